#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Count test cases in the logs that `meson test` writes (one JSON object a line).

A program that speaks TAP counts by case, any other as one. The last line printed is `N passed, N failed` or
`N passed, N failed, N skipped`. Exit status: 0 if nothing failed and something ran, else 1.
"""
import argparse
import json
import re
import sys
from pathlib import Path

POINT = re.compile(r"^(not )?ok\b\s*(?:\d+\b)?\s*(?:- )?\s*([^#]*)(#\s*skip\b.*)?", re.IGNORECASE)
PLAN = re.compile(r"^1\.\.(\d+)\s*(#\s*skip\b.*)?", re.IGNORECASE)
TAIL_LINES = 30


class Count:
    def __init__(self):
        self.passed = 0
        self.skipped = 0
        self.failures = []  # (name, output)

    def line(self):
        text = f"{self.passed} passed, {len(self.failures)} failed"
        return text + (f", {self.skipped} skipped" if self.skipped else "")


def is_tap(stdout):
    first = next((line for line in stdout.splitlines() if line.strip()), "")
    return first.startswith("TAP version") or PLAN.match(first) is not None


def add_tap(count, name, record):
    planned, ran, failed, bailed = None, 0, 0, False
    lines = record["stdout"].splitlines()
    for number, line in enumerate(lines):
        plan, point = PLAN.match(line), POINT.match(line)
        if plan:
            planned = int(plan.group(1))
            if planned == 0:
                count.skipped += 1
        elif line.startswith("Bail out!"):
            bailed = True
        elif point:
            ran += 1
            case = re.sub(r"\s*\([\d.]+s\)\s*$", "", point.group(2)).strip()
            if point.group(1):
                failed += 1
                below = []
                for text in lines[number + 1:]:
                    if not text.startswith(" "):
                        break
                    below.append(text)
                count.failures.append((f"{name}: {case}", "\n".join(below)))
            elif point.group(3):
                count.skipped += 1
            else:
                count.passed += 1
    # A program that ends early, or badly although each of its cases was well, has failed once more.
    if planned is None or ran != planned or bailed or record["result"] in ("TIMEOUT", "INTERRUPT"):
        words = f"planned {planned} cases, {ran} ran, {how(record)}"
        count.failures.append((f"{name}: {words}", output(record)))
    elif failed == 0 and record["result"] not in ("OK", "SKIP"):
        count.failures.append((f"{name}: {how(record)}", output(record)))


def add(count, name, record):
    result = record["result"]
    if is_tap(record.get("stdout") or ""):
        add_tap(count, name, record)
    elif result in ("OK", "EXPECTEDFAIL"):
        count.passed += 1
    elif result == "SKIP":
        count.skipped += 1
    else:
        count.failures.append((f"{name}: {how(record)}", output(record)))


def how(record):
    status = record.get("returncode")
    return record["result"] + (f", exit status {status}" if status is not None else "")


def output(record):
    lines = ((record.get("stdout") or "") + (record.get("stderr") or "")).splitlines()
    return "\n".join(lines[-TAIL_LINES:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="+", type=Path, metavar="LOG.json", help="its stem is the flavour in messages")
    parser.add_argument("--failures", action="store_true", help="the end of what failed, on standard error")
    parser.add_argument("--quiet", action="store_true", help="print nothing: the exit status alone")
    arguments = parser.parse_args()

    count = Count()
    for log in arguments.logs:
        try:
            text = log.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        for line in filter(str.strip, text.splitlines()):
            record = json.loads(line)
            add(count, f"{log.stem}: {record['name']}", record)

    if arguments.failures:
        for name, text in count.failures:
            print(f"FAILED {name}", file=sys.stderr)
            for line in text.splitlines():
                print(f"    {line}", file=sys.stderr)
    elif not arguments.quiet:
        for name, _ in count.failures:
            print(f"FAILED {name}")
        if count.passed == 0 and not count.failures:
            print("no test was run" if not count.skipped else "every test was skipped")
    if not arguments.quiet:
        print(count.line())
    return 1 if count.failures or count.passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
