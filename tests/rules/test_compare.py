#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`tools/dev compare` takes turns, pairs its ratios by round, and calls slower what is slower and nothing else: shown
with small scripts in the place of benchmark programs. Speaks TAP; exit status 0 or 1."""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from common import tap

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))
from runner import comparison, jobs, results

LISTING = """workloads:
  single-once            one thread, each block freed at once
  single-fifo            one thread, 64 live blocks: the oldest is replaced
allocators:
  lfma                   LFMA, the defaults
"""
# Takes as many ns as $ns says for this round (the times before the first colon are for round 1, and so on).
WORKER = """#!/bin/sh
[ "$1" = --list ] && { cat <<'END'
%sEND
exit; }
workload=$1 round= label=lfma
while [ $# -gt 0 ]; do
    case $1 in --round) round=$2 ;; --label) label=$2 ;; esac
    shift
done
ns=$(echo "%s" | cut -d: -f"$round")
[ "$ns" = fail ] && { echo "no luck" >&2; exit 3; }
[ "$ns" = short ] && { echo "$workload,$label,1"; exit; }
echo "$workload,$label,1,0,1,4096,100,$round,$ns,,,,,,,,,,,,0,0,0,0"
"""
ONCE_ONLY = "\n".join(line for line in LISTING.splitlines() if "single-fifo" not in line) + "\n"


def expect(got, wanted):
    return None if got == wanted else f"expected {wanted!r}, got {got!r}"


def worker(folder, name, times, listing=LISTING):
    path = Path(folder) / name
    path.write_text(WORKER % (listing, times), encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def plan_of(old, new, **changes):
    options = {"workloads": ["single"], "quick": False, "rounds": 3, "consumers": "1", "threads": "1", "fills": "90",
               "pairs": None, "no_pin": False, "no_latency": True, "allocators": "lfma", "old": old, "new": new}
    return comparison.Comparison(argparse.Namespace(**{**options, **changes}))


def run(old, new, *arguments):
    """The whole program: (exit status, output)."""
    done = subprocess.run([sys.executable, str(BENCH / "compare.py"), "--old", old, "--new", new, "--rounds", "3",
                           *arguments, "single"], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_listing():
    listing = comparison.parse_listing(LISTING)
    return expect(listing, comparison.Listing(["single-once", "single-fifo"], ["lfma"])) or expect(
        comparison.parse_listing("usage: something else\n"), comparison.Listing([], []))


def test_verdict():
    cases = {(1.06, 1.1, 1.3): "slower", (1.05, 1.1, 1.3): "", (1.04, 9.0, 9.0): "", (0.99, 1.0, 1.01): "",
             (0.1, 0.5, 0.95): "faster", (0.1, 0.5, 0.96): "", (0.9, 1.0, 1.2): "", (): "",
             (1.2, 0.5, 1.2, 1.2): "slower?", (0.8, 3.0, 0.8, 0.8): "faster?", (1.2, 0.5, 1.0, 1.2): ""}
    return expect({ratios: comparison.verdict(ratios) for ratios in cases}, cases)


def test_ratio():
    """Old has no round 2 and new no round 4: they have no ratio, and the others are not shifted by it."""
    table = results.Results()
    job = jobs.Job([], "a job", None)
    for side, times in (("old", {1: 10, 3: 100, 4: 7}), ("new", {1: 20, 2: 5, 3: 50})):
        table.add(job, [f"single-once,lfma@{side},1,0,1,4096,100,{turn},{ns}" + "," * 12 + "0,0,0,0"
                        for turn, ns in times.items()])
    return expect(table.errors, []) or expect(
        table.ratio(table.points()[0], "lfma@new", "ns_per_pair", "lfma@old"), results.Spread(1.25, 0.5, 2.0))


def test_turns():
    with tempfile.TemporaryDirectory() as folder:
        old, new = worker(folder, "old", "1"), worker(folder, "new", "1")
        plan = plan_of(old, new)
        order = [Path(job.command[0]).name for job in plan.jobs if job.command[1] == "single-once"]
        labels = {(Path(job.command[0]).name, job.command[job.command.index("--label") + 1]) for job in plan.jobs}
        return expect(order, ["old", "new", "new", "old", "old", "new"]) or expect(
            labels, {("old", "lfma@old"), ("new", "lfma@new")})


def test_refusals():
    with tempfile.TemporaryDirectory() as folder:
        good = worker(folder, "good", "1")
        for changes in ({"rounds": 2}, {"allocators": "malloc"}, {"workloads": ["coalesce"]}, {"pairs": 0},
                        {"old": folder}, {"new": "/dev/null/none"}, {"consumers": "1,x"}):
            try:
                plan_of(**{"old": good, "new": good, **changes})
            except jobs.PlanError:
                continue
            return f"takes {changes}"
    return None


def whole(old, new, status, *words, old_listing=LISTING, new_listing=LISTING):
    """What the program says of workers that take such times."""
    with tempfile.TemporaryDirectory() as folder:
        got, text = run(worker(folder, "old", old, old_listing), worker(folder, "new", new, new_listing))
    text = " ".join(text.split())
    missing = [word for word in words if word not in text]
    return expect(got, status) or (f"no {missing} in: {text}" if missing else None)


CASES = {
    "a worker's list": test_listing,
    "slower and faster if every round says so, perhaps if three of four do": test_verdict,
    "ratios are those of the same round": test_ratio,
    "the two take turns in going first": test_turns,
    "what cannot be compared is refused": test_refusals,
    "equal times": lambda: whole("10:30:20", "10:30:20", 0, "20.0 20.0 1.00 1.00–1.00", "0 of 2 rows slower"),
    "slower in each round": lambda: whole("10:30:20", "11:36:26", 1, "1.20 1.10–1.30 slower", "2 of 2 rows slower"),
    "slower in two of three": lambda: whole("10:30:20", "10:60:40", 0, "2.00 1.00–2.00", "0 of 2 rows slower"),
    "faster": lambda: whole("10:30:20", "5:15:10", 0, "0.50 0.50–0.50 faster", "2 faster"),
    "an older one without a workload": lambda: whole(
        "10:10:10", "10:10:10", 0, "4 KiB not there 10.0", "10.0 10.0 1.00", old_listing=ONCE_ONLY),
    "neither has a workload": lambda: whole(
        "10:10:10", "10:10:10", 0, "single-fifo, lfma: not there in either", "0 of 1 rows slower",
        old_listing=ONCE_ONLY, new_listing=ONCE_ONLY),
    "an older one without the allocator": lambda: whole(
        "10:10:10", "10:10:10", 0, "not there 10.0", old_listing=LISTING.replace("  lfma ", "  other ")),
    "a round that fails": lambda: whole("10:fail:20", "10:30:20", 2, "no luck", "15.0 20.0 1.00 1.00–1.00"),
    "all rounds fail": lambda: whole("fail:fail:fail", "10:30:20", 2, "4 KiB failed 20.0", "exit 3: no luck"),
    "slower, though a round fails": lambda: whole("10:30:20", "20:fail:40", 1, "2.00 2.00–2.00 slower", "no luck"),
    "rows of another form": lambda: whole("short:short:short", "10:10:10", 2, "a row has 3 fields, not 24"),
    "no worker": lambda: expect(run("/dev/null/none", "/dev/null/none")[0], 2),
}


def main():
    return tap([(name, case()) for name, case in CASES.items()])


if __name__ == "__main__":
    sys.exit(main())
