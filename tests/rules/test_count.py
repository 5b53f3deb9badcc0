#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tools/count_tests.py counts what meson's logs say, and lets no failure pass. Speaks TAP; exit status 0 or 1."""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

COUNTER = Path(__file__).resolve().parents[2] / "tools" / "count_tests.py"


def program(result, returncode=0):
    return {"name": "p", "result": result, "stdout": "", "returncode": returncode}


def tap(lines, result="OK", returncode=0):
    return {"name": "t", "result": result, "stdout": "TAP version 13\n" + lines, "returncode": returncode}


# (what, records, last line, exit status)
CASES = [
    ("a plain program that passes", [program("OK")], "1 passed, 0 failed", 0),
    ("a plain program that fails", [program("FAIL", 1)], "0 passed, 1 failed", 1),
    ("a plain program that is skipped", [program("OK"), program("SKIP", 77)], "1 passed, 0 failed, 1 skipped", 0),
    ("a program that hangs", [program("TIMEOUT")], "0 passed, 1 failed", 1),
    ("a program that crashes", [program("FAIL", -11)], "0 passed, 1 failed", 1),
    ("nothing at all", [], "0 passed, 0 failed", 1),
    ("everything skipped", [program("SKIP", 77)], "0 passed, 0 failed, 1 skipped", 1),
    ("cases without numbers, as Criterion writes them",
     [tap("1..3\n# Criterion\nok - s::a  (0.00s)\nok - s::b  # SKIP none\nok - s::c \n")],
     "2 passed, 0 failed, 1 skipped", 0),
    ("a failed case with its reason",
     [tap("1..2\nok - a\nnot ok - b\n  ---\n  ok - not a case\n  ...\n", "ERROR", 1)], "1 passed, 1 failed", 1),
    ("a plan at the end", [tap("ok 1 - a\nok 2 - b\n1..2\n")], "2 passed, 0 failed", 0),
    ("a program that ends before its last case", [tap("1..3\nok - a\n")], "1 passed, 1 failed", 1),
    ("a program without a plan", [tap("ok - a\n")], "1 passed, 1 failed", 1),
    ("a program that bails out", [tap("1..1\nok - a\nBail out! no memory\n", "ERROR", 1)], "1 passed, 1 failed", 1),
    ("every case well, but the exit status", [tap("1..1\nok - a\n", "ERROR", 1)], "1 passed, 1 failed", 1),
    ("a hang after some cases", [tap("1..2\nok - a\n", "TIMEOUT")], "1 passed, 1 failed", 1),
    ("a TAP program that is skipped whole", [program("OK"), tap("1..0 # SKIP no compiler\n", "SKIP", 77)],
     "1 passed, 0 failed, 1 skipped", 0),
    ("a TAP program that says nothing", [program("ERROR", 1)], "0 passed, 1 failed", 1),
    ("several programs", [program("OK"), tap("1..2\nok - a\nnot ok - b\n", "ERROR", 1), program("SKIP", 77)],
     "2 passed, 1 failed, 1 skipped", 1),
]


def count(records):
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "flavour.json"
        log.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        done = subprocess.run([sys.executable, str(COUNTER), str(log)], capture_output=True, text=True, check=False)
        return (done.stdout.splitlines() or [""])[-1], done.returncode


def main():
    print("TAP version 13")
    print(f"1..{len(CASES)}")
    failed = False
    for number, (what, records, line, status) in enumerate(CASES, 1):
        got = count(records)
        good = got == (line, status)
        failed = failed or not good
        print(f"{'ok' if good else 'not ok'} {number} - {what}")
        if not good:
            print(f"  expected {(line, status)}, got {got}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
