#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run what verifies the library, and write docs/VERIFICATION.md from the figures.

Each part runs one command of tools/dev and keeps its figures, with the commit that they are of, in
docs/verification.json; the page is made from that file alone. Parts that are not run keep the figures that they had.
"""
import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ROOT / "docs/verification.json"
PAGE = ROOT / "docs/VERIFICATION.md"
FOLDER = ROOT / "build/verification"
DEV = str(ROOT / "tools/dev")


def explore(name, *arguments):
    return [DEV, "explore", *arguments, "--record", str(FOLDER / f"{name}.json")]


# part: its command; it leaves its figures in build/verification/PART.json
PARTS = {
    "explore": explore("explore", "--bound", "2"),
    "explore-3": explore("explore-3", "--pairs", "--bound", "3"),
    "explore-weak": explore("explore-weak", "--threads", "2", "--bound", "1", "--weak=1"),
    "explore-weak-3": explore("explore-weak-3", "--pairs", "--bound", "3", "--weak=1"),
    "explore-random": explore("explore-random", "--random", "4", "--runs", "2000"),
    "mutants-orders": [DEV, "mutants"],
    "mutants": [DEV, "mutants", "--all"],
    "stress": [DEV, "stress", "--operations", "100000000", "--tsan"],
    "fuzz": [DEV, "fuzz", "--minutes", "5"],
    "cover": [DEV, "cover"],
    "invalid": [str(ROOT / "build/release-gcc/tests/test_invalid")],
    "cross": [DEV, "cross", "all"],
}


def commit():
    def git(*arguments):
        return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True).stdout.strip()
    changed = [line for line in git("status", "--porcelain").splitlines()
               if not line.endswith(("docs/verification.json", "docs/VERIFICATION.md"))]
    return git("rev-parse", "--short", "HEAD") + ("-dirty" if changed else "")


def run(part):
    """A part's figures; the whole ends here if the part fails."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    if part == "invalid":
        subprocess.run([DEV, "test", "--quick", "unit"], check=True, stdout=subprocess.DEVNULL)
    begin = time.monotonic()
    done = subprocess.run(PARTS[part], env={**os.environ, "LFMA_TEST_RECORD": str(FOLDER)})
    if done.returncode != 0:
        sys.exit(f"{part} failed: its figures are not kept")
    figures = json.loads((FOLDER / f"{part}.json").read_text())
    return {**figures, "commit": commit(), "seconds": round(figures.get("seconds", time.monotonic() - begin))}


def number(n):
    return f"{n:,}" if n < 10_000_000 else f"{n / 1e6:,.1f} million" if n < 1e9 else f"{n / 1e9:,.2f} billion"


def explored(f):
    weak = "sequentially consistent" if f["stale"] == "0" else f"weak, {f['stale']} stale read(s) a run"
    how = f"random schedules, depth {f['random_depth']}" if f["random_depth"] else f"{f['bound']} preemptions"
    return (f"{number(f['scenarios'])} scenarios, {weak}, {how}: {number(f['whole'])} closed, "
            f"{number(f['runs'])} runs, {number(f['operations'])} atomic operations, {f['failures']} failures; "
            f"longest thread {f['longest']} atomic operations")


def mutated(f):
    rows = [f"{kind}: {f[kind + '_caught']} of {f[kind]} caught, {f[kind + '_known']} kept with a reason"
            for kind in ("order", "listed", "generated") if kind in f]
    return "; ".join(rows) + f"; {len(f['survivors'])} survive without one"


def share(f, room):
    return ", ".join(f"{f[f'{room}_{what}']} of {f[f'{room}_{what}_total']} {what}" for what in ("lines", "branches"))


ROWS = {
    "explore": ("Every schedule, all scenarios", explored),
    "explore-3": ("Every schedule, all pairs", explored),
    "explore-weak": ("Weak memory, pairs, interrupted, killed", explored),
    "explore-weak-3": ("Weak memory, all pairs", explored),
    "explore-random": ("Random schedules of changing priorities", lambda f: explored(f).replace("0 closed, ", "")),
    "mutants-orders": ("Mutants: memory orders", mutated),
    "mutants": ("Mutants: all", mutated),
    "stress": ("Threads", lambda f: (
        f"{f['false_nomem']} false NOMEM in {number(f['game_operations'])} operations of the one-free-block game; "
        f"after {number(f['mixed_operations'])} mixed operations the emptied arena "
        f"{'equals' if f['fresh_after'] else 'DIFFERS from'} a fresh one bit for bit; {f['tsan_seconds']} s under "
        "the thread sanitizer")),
    "fuzz": ("Fuzzing", lambda f: (
        f"{number(f['executions'])} sequences, {number(f['operations'])} operations next to the model, {f['edges']} "
        f"edges, {f['crashes']} finds")),
    "cover": ("Coverage by unit and model tests", lambda f: "; ".join(
        f"{room}: {share(f, room)}" for room in ("bitmap", "zone", "arena", "os", "base"))),
    "invalid": ("Invalid input", lambda f: (
        f"{f['kinds']} kinds at {f['entries']} entries, {number(f['combinations'])} calls: the stated code, nothing "
        "changed")),
    "cross": ("Other targets", lambda f: (
        f"aarch64 under qemu (logic only): {f['aarch64_tests_passed']} passed, {f['aarch64_failed']} failed; its "
        f"machine code: {f['audit_rmw']} read-modify-writes in {f['audit_functions']} functions of "
        f"{f['audit_builds']} builds, {f['audit_complaints']} complaints; "
        f"32-bit arm: {f['armhf']}, i386: {f['i386']}")),
}

HEAD = """<!-- Made by tools/dev verify from docs/verification.json: do not edit. -->
# Verification: what was run, and what it showed

Each row is one command's figures, of the commit named. How each of them works: [CONTRIBUTING](../CONTRIBUTING.md);
what they are to show: [INVARIANTS](INVARIANTS.md), [ORDERING](ORDERING.md), [FAULTS](FAULTS.md). The commands:
`tools/dev explore`, `mutants`, `stress`, `fuzz`, `cover`, `cross`; `tools/dev verify PART …` runs them and makes
this page.

| what | figures | commit | seconds |
| --- | --- | --- | --- |
"""

TAIL = """
## What the explorer explores
The library's own code, built over a second implementation of `lfma/base/atomic.h`: threads are coroutines, each
access of a cell that threads share is a choice of who goes on. Families: the free table by itself; arenas of single
pages, of words of the page map, and of groups of 64 words; thread numbers; threads that come new. In each, all
pairs of operations from each edge state, the pairs with a third thread, operations interrupted at every atomic by
another one as by a signal handler, and threads killed at every atomic.

Choices besides the threads': what a clock says, spurious failures of weak compare-exchanges, and in weak memory the
values that a load may still see (per-location views, acquire, release and sequential consistency as C11 has them,
without load buffering). States met before are not walked again. "Closed" means that every schedule within the bound
was run or met.

At rest an oracle compares with what the callers hold and `lfma_arena_validate()` proves the invariants; NOMEM and
FRAGMENTED are checked against every instant of the call; a new owner must see what the last one wrote. (In weak
memory the instants of NOMEM are judged with two threads only: ORDERING says why.) Six wrong protocols are run
along, and must fail.
"""


def render(figures):
    page = HEAD
    for part, (title, text) in ROWS.items():
        if part in figures:
            f = figures[part]
            page += f"| {title} | {text(f)} | {f['commit']} | {number(f['seconds'])} |\n"
    for part in ("mutants-orders", "mutants"):
        left = figures.get(part, {})
        known = {name: f": {why}" for name, why in left.get("known", {}).items()}
        for title, names in (("kept, with a reason", known),
                             ("not caught", dict.fromkeys(left.get("survivors", []), ""))):
            if names:
                page += f"\n## {ROWS[part][0]}, {title}\n" + "".join(f"- {n}{why}\n" for n, why in names.items())
    return page + TAIL


def known_figures():
    return json.loads(FIGURES.read_text()) if FIGURES.exists() else {}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; none: only make the page")
    parser.add_argument("--all", action="store_true", help="every part (an hour or more)")
    options = parser.parse_args()
    unknown = [part for part in options.parts if part not in PARTS]
    if unknown:
        parser.error(f"no part {', '.join(unknown)}")
    for part in PARTS if options.all else options.parts:
        made = run(part)
        figures = known_figures()  # read now: another part may have run meanwhile
        figures[part] = made
        FIGURES.write_text(json.dumps(figures, indent=1) + "\n")
        PAGE.write_text(render(figures))
    PAGE.write_text(render(known_figures()))


if __name__ == "__main__":
    main()
