#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One change to the core at a time: does the explorer catch it?

Order mutants are made from the sources: every atomic that is not relaxed, one step weaker. The others are a list:
re-checks removed, marks moved. Each is applied to a copy of the tree, the explorer is built and run there, first in
sequentially consistent, then in weak memory. A mutant that nothing catches is named with its line; the exit status is
not 0 if there is one that is not known. Known survivors bear their reason in KNOWN.
"""
import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted([*ROOT.glob("lfma/bitmap/*.[ch]"), *ROOT.glob("lfma/zone/*.[ch]"), *ROOT.glob("lfma/arena/*.[ch]")])

WEAKER = {
    "load_sc": ["load_acquire"],
    "load_acquire": ["load_relaxed"],
    "store_release": ["store_relaxed"],
    "add_release": ["add_relaxed"],
    "or_sc": ["or_acqrel"],
    "and_sc": ["and_acqrel"],
    "and_acqrel": ["and_acquire", "and_release"],
    "and_release": ["and_relaxed"],
    "set_bit_sc": ["set_bit_acqrel"],
    "clear_bit_acqrel": ["clear_bit_acquire", "clear_bit_release"],
}

# name, file, what is there (once), what is there instead
CHANGES = [
    ("no F2", "bitmap/table.h", "bool set = lfma__hint_ensure(t.search, slice);", "bool set = false;"),
    ("no F3", "bitmap/table.h", "set |= lfma__hint_ensure(t.summary, slice / LFMA__WORD_BITS);", ";"),
    ("no C3", "bitmap/table.c", "*ret_undone = lfma__a64_load_sc(word) != 0;", "*ret_undone = false;"),
    ("no F3 after C4", "bitmap/table.c",
     "(void)lfma__hint_ensure(t.summary, slice / LFMA__WORD_BITS);", ";"),
    ("C4 forgotten", "bitmap/table.c", "(void)lfma__a64_or_sc(hint_word, bit);", ";"),
    ("scan does not repair", "bitmap/table.c", "if (lfma__table_hint(t, slice))", "if (false)"),
    ("claim grants what it lost", "bitmap/table.h",
     "return LFMA_LIKELY(lfma__a64_clear_bit_acqrel(slice, bit)) ? bit : LFMA__NONE;",
     "(void)lfma__a64_clear_bit_acqrel(slice, bit); return bit;"),
    ("join keeps what it lost", "zone/coalesce.c", "all = got[i] == parts;", ";"),
    ("join gives nothing back", "zone/coalesce.c", "else if (got[i])", "else if (false)"),
    ("pairs give nothing back", "zone/pairs.c", "if (single) {", "if (false) {"),
    ("states survive a join", "zone/coalesce.c", "        if (all)\n            lfma__zone_clear_states",
     "        if (false)\n            lfma__zone_clear_states"),
    ("marks survive a join", "zone/coalesce.c",
     "(void)lfma__a64_and_release(&lfma__zone_page_map(zone)[block], 0);", ";"),
    ("split not in flight", "zone/claim.c",
     "    lfma__owner_begin(owner);\n    for (unsigned from = order + 1;",
     "    lfma__owner_advance(owner, 0);\n    for (unsigned from = order + 1;"),
    ("join not in flight", "zone/coalesce.c", "lfma__owner_begin(join->owner);", ";"),
    ("free not raised", "zone/publish.c", "    lfma__owner_raise(owner);\n    return LFMA_OK;",
     "    return LFMA_OK;"),
    ("end does not raise", "zone/owner.h", "LFMA__VERSION_ONE - LFMA__IN_FLIGHT_ONE);",
     "(uint64_t)0 - LFMA__IN_FLIGHT_ONE);"),
    ("no second reading", "arena/prove.c", "if (after.in_flight || after.sum != before.sum)", "if (false)"),
    ("second reading: sum only", "arena/prove.c", "if (after.in_flight || after.sum != before.sum)",
     "if (after.sum != before.sum)"),
    ("second reading: flight only", "arena/prove.c", "if (after.in_flight || after.sum != before.sum)",
     "if (after.in_flight)"),
    ("mark after the publish", "zone/publish.c", "    if (order < LFMA__ORDER_IMPLIED) {", "    if (false) {"),
    ("claim leaves its marks", "zone/claim.c", "    if (order >= LFMA__ORDER_IMPLIED)\n        return;",
     "    return;"),
]

# Survivors that are understood: mutant → why it changes nothing that can be seen, or what else catches it.
KNOWN = {
    "second reading: sum only": "an operation in flight at R2 that was not at R1 has raised the sum",
}


def order_mutants():
    pattern = re.compile(r"\blfma__a64_(" + "|".join(WEAKER) + r")\(")
    for path in SOURCES:
        text = path.read_text()
        for match in pattern.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            for weaker in WEAKER[match.group(1)]:
                name = f"{path.relative_to(ROOT / 'lfma')}:{line} {match.group(1)} -> {weaker}"
                yield name, path, text[:match.start(1)] + weaker + text[match.end(1):]


def listed_mutants():
    for name, file, old, new in CHANGES:
        path = ROOT / "lfma" / file
        text = path.read_text()
        if text.count(old) != 1:
            sys.exit(f"mutant '{name}': its place is {text.count(old)} times in {file}; mend tools/mutants.py")
        yield name, path, text.replace(old, new)


class Workshop:
    """A copy of the tree in which one file at a time is wrong."""

    def __init__(self, folder, bound):
        self.tree = Path(folder) / "tree"
        self.build = Path(folder) / "build"
        self.bound = str(bound)
        for part in ("lfma", "include", "tests/explore"):
            shutil.copytree(ROOT / part, self.tree / part)
        self.program = self.build / "explore"
        self.build.mkdir()

    def compile(self):
        sources = [p for p in sorted(self.tree.glob("lfma/*/*.c")) if p.name != "thread.c"]
        sources += sorted(self.tree.glob("tests/explore/*.c"))
        command = ["cc", "-std=c11", "-O1", "-w", "-D_GNU_SOURCE",
                   '-DLFMA_ATOMIC_DOOR="explore/door.h"', "-DLFMA_LOOKS_MAX=2",
                   *(f"-I{self.tree / part}" for part in ("include", "lfma", "tests", ".")),
                   *map(str, sources), "-o", str(self.program)]
        return subprocess.run(command, capture_output=True, text=True)

    def verdict(self, path, text):
        """What catches this text in place of the file's, or None."""
        place = self.tree / path.relative_to(ROOT)
        right = place.read_text()
        place.write_text(text)
        try:
            compiled = self.compile()
            if compiled.returncode != 0:
                return "the compiler: " + compiled.stderr.strip().splitlines()[0]
            for mode in (["--bound", self.bound], ["--bound", "1", "--weak=1"],
                         ["prove", "--bound", "2", "--weak=2"]):
                command = [str(self.program), "--threads", "2", "--first", *mode]
                try:
                    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
                except subprocess.TimeoutExpired:
                    return "no end in 120 s"
                if run.returncode != 0:
                    told = (run.stdout + run.stderr).splitlines()
                    lines = [line for line in told if "FAILED" in line or "assert" in line]
                    return (lines or ["exit status %d" % run.returncode])[0].replace("FAILED ", "")
            return None
        finally:
            place.write_text(right)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="order mutants and listed ones (default: orders only)")
    parser.add_argument("--bound", type=int, default=2, help="preemptions a run (2)")
    parser.add_argument("names", nargs="*", help="only mutants with one of these in their name")
    options = parser.parse_args()
    mutants = [*order_mutants(), *(listed_mutants() if options.all or options.names else [])]
    mutants = [m for m in mutants if not options.names or any(part in m[0] for part in options.names)]
    survivors, begin = [], time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        workshop = Workshop(folder, options.bound)
        clean = workshop.verdict(SOURCES[0], SOURCES[0].read_text())
        if clean is not None:
            sys.exit(f"the tree as it is fails: {clean}")
        for name, path, text in mutants:
            caught = workshop.verdict(path, text)
            why = KNOWN.get(name)
            if caught is None and why is None:
                survivors.append(name)
            verdict = "caught  " if caught else "known   " if why else "SURVIVED"
            print(f"{verdict}  {name}: {caught or why or ''}", flush=True)
    killed = len(mutants) - len(survivors)
    print(f"{len(mutants)} mutants, {killed} caught or known, {len(survivors)} survived, "
          f"{time.monotonic() - begin:.0f} s")
    sys.exit(1 if survivors else 0)


if __name__ == "__main__":
    main()
