#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Read gcovr's JSON: a table of lfma/, a file and a room, and all that is not covered in the rooms named by --strict.

Nothing may be excluded there by markers either, and each of their sources must have been measured. Exit status: 0, or
1 if a strict room is not covered whole.
"""
import argparse
import json
import sys
from pathlib import Path


class Figures:
    """Lines and branches, covered and in all."""

    def __init__(self):
        self.lines = self.lines_total = self.branches = self.branches_total = 0

    def add_line(self, count, branches):
        self.lines_total += 1
        self.lines += count > 0
        self.branches_total += len(branches)
        self.branches += sum(taken > 0 for taken in branches)

    def add(self, other):
        self.lines += other.lines
        self.lines_total += other.lines_total
        self.branches += other.branches
        self.branches_total += other.branches_total

    def row(self, name):
        def part(covered, total):
            # Rounded down: 100 % is all.
            return f"{covered:>6} of {total:<5}{1000 * covered // total / 10 if total else 100:>6.1f} %"
        return (f"{name:<26}{part(self.lines, self.lines_total)}   {part(self.branches, self.branches_total)}")


def read_file(entry, text, complain):
    figures = Figures()
    for line in entry["lines"]:
        number = line["line_number"]
        where = f"{entry['file']}:{number}"
        if line.get("gcovr/excluded"):
            complain(f"{where}: excluded by a marker: {text[number - 1].strip()}")
        if line.get("gcovr/noncode") or line.get("gcovr/excluded"):
            continue
        branches = [branch["count"] for branch in line["branches"]]
        figures.add_line(line["count"], branches)
        if line["count"] == 0:
            complain(f"{where}: never run: {text[number - 1].strip()}")
        elif 0 in branches:
            missed = ", ".join(str(index) for index, taken in enumerate(branches) if taken == 0)
            complain(f"{where}: of {len(branches)} branches never taken: {missed}: {text[number - 1].strip()}")
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--strict", action="append", default=[], metavar="ROOM", help="must be covered whole")
    parser.add_argument("--figures", type=Path, help="write the rooms' figures there, as one flat JSON object")
    parser.add_argument("--commit", default="", help="goes into the figures")
    parser.add_argument("--seconds", type=int, default=0, help="goes into the figures")
    parser.add_argument("coverage", type=Path)
    parsed = parser.parse_args()

    rooms, wrong = {}, []
    measured = sorted(json.loads(parsed.coverage.read_text())["files"], key=lambda entry: entry["file"])
    print(f"{'':<26}{'lines':>13}{'':<11}{'branches':>13}")
    for entry in measured:
        room = entry["file"].split("/")[1]
        strict = room in parsed.strict
        text = (parsed.root / entry["file"]).read_text().splitlines()
        figures = read_file(entry, text, wrong.append if strict else lambda what: None)
        rooms.setdefault(room, Figures()).add(figures)
        print(figures.row(entry["file"]))
    for room, figures in rooms.items():
        print(figures.row(room + "/, in all"))

    names = {entry["file"] for entry in measured}
    for room in parsed.strict:
        for source in sorted((parsed.root / "lfma" / room).glob("*.c")):
            name = source.relative_to(parsed.root).as_posix()
            if name not in names:
                wrong.append(f"{name}: not measured")
    for what in wrong:
        print(what)

    if parsed.figures:
        flat = {"commit": parsed.commit, "seconds": parsed.seconds}
        for room, figures in rooms.items():
            flat.update({f"{room}_{kind}": value for kind, value in vars(figures).items()})
        parsed.figures.parent.mkdir(parents=True, exist_ok=True)
        parsed.figures.write_text(json.dumps(flat, indent=2) + "\n")
    if wrong:
        print(f"NOT covered whole: {len(wrong)} places in {' and '.join(parsed.strict)}")
    elif parsed.strict:
        print(f"covered whole: {' and '.join(parsed.strict)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
