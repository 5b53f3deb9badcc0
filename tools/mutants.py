#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One change to the core at a time: what catches it?

Order mutants: every atomic that is not relaxed, one step weaker, in weak memory. With --all also the listed ones
(re-checks removed, retries turned into failures, hints not set, marks moved) and the generated ones (each comparison
and each logical operator inverted). Each is applied to a copy of the tree, built there, and shown to the explorer,
the fuzzer's inputs, and the unit tests, until one complains. A mutant that nothing catches is named with its line;
the exit status is not 0 if there is one that is not known. Known survivors bear their reason in KNOWN.
"""
import argparse
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted(p for room in ("bitmap", "zone", "cache", "arena") for p in ROOT.glob(f"lfma/{room}/*.[ch]"))
SOURCES.append(ROOT / "lfma/os/numbers.c")

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
    "set_bit_acquire": ["set_bit_relaxed"],
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
    ("split marked late", "zone/claim.c",
     "lfma__owner_begin(owner);\n        const uint64_t block = lfma__table_claim(table, start_slice(table, home));",
     "const uint64_t block = lfma__table_claim(table, start_slice(table, home));\n        lfma__owner_begin(owner);"),
    ("scan marked late", "zone/claim.c",
     "lfma__owner_begin(owner);\n        const uint64_t block = lfma__table_claim_scan(table, first, &repaired);",
     "const uint64_t block = lfma__table_claim_scan(table, first, &repaired);\n        lfma__owner_begin(owner);"),
    ("join marked late", "zone/coalesce.c",
     "lfma__owner_begin(join->owner);\n    if (!claim_run(zone, base, group, seen, first, log2_units)) {",
     "const bool claimed = claim_run(zone, base, group, seen, first, log2_units);\n"
     "    lfma__owner_begin(join->owner);\n    if (!claimed) {"),
    ("pairs marked late", "zone/pairs.c",
     "lfma__owner_begin(owner);\n    const uint64_t got = lfma__table_claim_bits(table, slice, lower | lower << 1);",
     "const uint64_t got = lfma__table_claim_bits(table, slice, lower | lower << 1);\n    lfma__owner_begin(owner);"),
    ("free not raised", "zone/publish.c", "    lfma__owner_raise(owner);\n    return LFMA_OK;",
     "    return LFMA_OK;"),
    ("end does not raise", "zone/owner.h", "LFMA__VERSION_ONE - LFMA__IN_FLIGHT_ONE);",
     "(uint64_t)0 - LFMA__IN_FLIGHT_ONE);"),
    ("no second reading", "arena/prove.c", "if (after.in_flight || after.sum != before.sum)", "if (false)"),
    ("second reading: sum only", "arena/prove.c", "if (after.in_flight || after.sum != before.sum)",
     "if (after.sum != before.sum)"),
    ("second reading: flight only", "arena/prove.c", "if (after.in_flight || after.sum != before.sum)",
     "if (after.in_flight)"),
    ("batch not raised", "zone/publish.c", "    lfma__owner_raise(owner);\n    return before & bits;",
     "    return before & bits;"),
    ("refill grants what it lost", "bitmap/table.h",
     "return seen & ~left ? lfma__table_claim_bits(t, slice, seen & ~left) : 0;",
     "(void)lfma__table_claim_bits(t, slice, seen & ~left); return seen & ~left;"),
    ("drain forgets a side", "cache/gather.c",
     "    for (unsigned side = 0; side < LFMA__SIDES; side++) {\n        lfma__cache_drain_side(",
     "    for (unsigned side = 0; side < LFMA__GIVE; side++) {\n        lfma__cache_drain_side("),
    ("grant not given back", "cache/grant.c", "(void)lfma__a64_add_relaxed(&purse->left, grant->pages); ", ";"),
    ("a scarce block is cut ahead", "cache/refill.c", "|| !lfma__zone_is_plenty(zone, splits))", ")"),
    ("cut parts have a state", "cache/refill.c", "lfma__state_clear(lfma__zone_states(zone), page);", ";"),
    ("asked in vain", "cache/grant.c", "            lfma__cache_drain_side(pool, slot, side);\n        adjust(",
     "            continue;\n        adjust("),
    ("asked for ever", "cache/grant.c", "        set_uneven(pool, false);\n", ""),
    ("nobody asks", "cache/grant.c", "        set_uneven(pool, true);\n", "        ;\n"),
    ("asks an idle one at each miss", "cache/grant.c", "&& (missed & (missed - 1)) == 0)", ")"),
    ("push without looking at the slice", "cache/cache.h",
     "(lfma__cache_get(&hold->bits) | lfma__cache_get(hold->slice)) & bit", "lfma__cache_get(&hold->bits) & bit"),
    ("states not cleared when gathered", "cache/gather.c",
     "    if (!pool->hardened)\n        lfma__state_clear(pool->row.states, page);\n", ""),
    ("states not restored when published", "cache/gather.c",
     "    lfma__cache_set_states(pool, order, first, bits | more);", "    ;"),
    ("no drain before the proof", "arena/alloc.c",
     "if (lfma__cache_drain(&r->arena->pool, r->slot) + lfma__arena_drain_orphans(r->arena) > 0)",
     "if (lfma__arena_drain_orphans(r->arena) > 0)"),
    ("no orphans before the proof", "arena/alloc.c",
     "if (lfma__cache_drain(&r->arena->pool, r->slot) + lfma__arena_drain_orphans(r->arena) > 0)",
     "if (lfma__cache_drain(&r->arena->pool, r->slot) > 0)"),
    ("exit does not retire", "arena/registry.c",
     "            (void)lfma__cache_drain(&arena->pool, &arena->slots[index]);", "            continue;"),
    ("nested call uses the busy slot", "arena/owners.c",
     "if (LFMA_UNLIKELY(lfma__ticket_name(ticket) == LFMA__TICKET_BUSY))", "if (false)"),
]

# Survivors that are understood: a mutant's name without its line, and why it changes nothing that can be seen.
KNOWN = {
    "second reading: sum only": "an operation in flight at R2 that was not at R1 has raised the sum",
    "states not restored when published": "a free block may have no state (I7): who claims it sets it; this spares "
                                          "the claimer the write",
}

INVERTED = {" < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " == ": " != ", " != ": " == ",
            " && ": " || ", " || ": " && "}

EXPLORE = "tests/explore/explore"
PROOFS = ["alloc-prove", "alloc1-prove", "move-prove", "coalesce-prove", "pairs-prove", "prove-scan"]
SMALL = ["table", "numbers", "words", "scarce", "game", "new"]
CACHES = ["cache", "lives"]
# Ways to catch a mutant, cheapest first: a name, the program, its arguments.
WEAK_WAYS = [
    ("explore weak", EXPLORE, ["--bound", "1", "--weak=1", "--threads", "2", "--first", *SMALL]),
    ("explore weak", EXPLORE, ["--bound", "1", "--weak=1", "--pairs", "--first", *CACHES]),
    ("explore weak", EXPLORE, ["--bound", "1", "--weak=4", "--first", "lives-orphan-alloc-live"]),
    ("explore weak", EXPLORE, ["--bound", "2", "--weak=2", "--first", "table"]),
    ("explore weak", EXPLORE, ["--bound", "2", "--weak=2", "--threads", "2", "--first", "--part", "1/3", *PROOFS]),
    ("explore weak", EXPLORE, ["--bound", "2", "--weak=2", "--threads", "2", "--first", "--part", "2/3", *PROOFS]),
    ("explore weak", EXPLORE, ["--bound", "2", "--weak=2", "--threads", "2", "--first", "--part", "3/3", *PROOFS]),
    ("explore weak", EXPLORE, ["--bound", "1", "--weak=1", "--threads", "2", "--first", "arena"]),
]
OTHER_WAYS = [
    ("corpus", "tests/fuzz/replay", [str(ROOT / "tests/fuzz/corpus")]),
    ("explore", EXPLORE, ["--bound", "1", "--threads", "2", "--first"]),
    ("explore", EXPLORE, ["--bound", "2", "--threads", "2", "--first", *SMALL]),
    ("explore", EXPLORE, ["--bound", "1", "--first", *CACHES]),
    *((f"unit/{name}", f"tests/test_{name}", ["--tap"]) for name in
      ("table", "zone", "races", "coalesce", "maintenance", "budget", "arena", "validate", "word", "misuse",
       "invalid", "steps", "cost", "config", "cache", "cache_frees", "cache_cost",
       "cache_grants", "cache_threads", "cache_model")),
    *WEAK_WAYS,
    ("explore", EXPLORE, ["--bound", "2", "--first", "arena"]),
    ("unit/placement", "tests/test_placement", ["--tap"]),
    ("unit/model", "tests/test_model", ["--tap"]),
]


@dataclass
class Mutant:
    kind: str
    key: str  # without the line: what KNOWN knows it by
    line: int
    path: Path
    text: str

    @property
    def name(self):
        return f"{self.key} (line {self.line})"


def line_of(text, place):
    return text.count("\n", 0, place) + 1


def function_at(text, place):
    """The function that a place is in."""
    heads = re.finditer(r"^[A-Za-z_][^;={}]*?\b(\w+)\([^;{}]*\)\s*\n\{", text, re.M)
    opened = [m for m in heads if m.start() < place]
    return opened[-1].group(1) if opened else "?"


def where(path, text, place):
    return f"{path.relative_to(ROOT / 'lfma')} {function_at(text, place)}"


def unique(mutants):
    """Several mutants of one key are told apart by their number."""
    seen = Counter()
    for m in mutants:
        seen[m.key] += 1
        if seen[m.key] > 1:
            m.key += f" #{seen[m.key]}"
        yield m


def order_mutants():
    pattern = re.compile(r"\blfma__a64_(" + "|".join(WEAKER) + r")\(")
    for path in SOURCES:
        text = path.read_text()
        for match in pattern.finditer(text):
            for weaker in WEAKER[match.group(1)]:
                key = f"{where(path, text, match.start())}: {match.group(1)} -> {weaker}"
                yield Mutant("order", key, line_of(text, match.start()), path,
                             text[:match.start(1)] + weaker + text[match.end(1):])


def listed_mutants():
    for name, file, old, new in CHANGES:
        path = ROOT / "lfma" / file
        text = path.read_text()
        if text.count(old) != 1:
            sys.exit(f"mutant '{name}': its place is {text.count(old)} times in {file}; mend tools/mutants.py")
        yield Mutant("listed", name, line_of(text, text.index(old)), path, text.replace(old, new))


def generated_mutants():
    for path in SOURCES:
        text = path.read_text()
        # Comments, strings, directives and assertions are left as they are.
        code = re.sub(r'/\*.*?\*/|"[^"\n]*"|^#.*?$|LFMA_ASSERT\([^;]*;|_Static_assert\([^;]*;',
                      lambda m: re.sub(r"[^\n]", "~", m.group(0)), text, flags=re.S | re.M)
        for match in re.finditer("|".join(map(re.escape, INVERTED)), code):
            old = match.group(0)
            key = f"{where(path, text, match.start())}:{old}->{INVERTED[old]}".strip()
            yield Mutant("generated", key, line_of(text, match.start()), path,
                         text[:match.start()] + INVERTED[old] + text[match.end():])


def not_source(folder, names):
    """Of a folder's names those that are no part of the sources: histories, results, and whatever ninja has built."""
    return [name for name in names if name in (".git", "build", "results", "__pycache__")
            or (Path(folder) / name / "build.ninja").exists()]


class Workshop:
    """A copy of the tree in which one file at a time is wrong."""

    def __init__(self, folder):
        self.tree = Path(folder) / "tree"
        self.build = Path(folder) / "build"
        shutil.copytree(ROOT, self.tree, symlinks=True, ignore=not_source)
        options = ["-Dbuildtype=debug", "-Doptimization=1", "-Dwerror=false", "-Dbench=false"]
        self.command(["meson", "setup", str(self.build), str(self.tree), *options], 300, check=True)

    def command(self, command, seconds, check=False):
        environment = {**os.environ, "LFMA_TEST_QUICK": "1", "LFMA_TEST_SCALE": "20", "MALLOC_PERTURB_": "0"}
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, env=environment,
                              errors="replace")
        if check and done.returncode != 0:
            sys.exit(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")
        return done

    def make(self, programs):
        return self.command(["ninja", "-C", str(self.build), *sorted(programs)], 300)

    def complaint(self, way):
        """What a way says of the tree as it is now, or None."""
        name, program, arguments = way
        made = self.make({program})
        if made.returncode != 0:
            errors = [line for line in made.stdout.splitlines() if "error" in line]
            return "the compiler: " + (errors or ["?"])[0]
        try:
            done = self.command([str(self.build / program), *arguments], 240)
        except subprocess.TimeoutExpired:
            # The explorer ends runs that do not end: if it does not end itself, it has said nothing yet.
            return None if program == EXPLORE else f"{name}: no end in 240 s"
        if done.returncode == 0:
            return None
        if program == EXPLORE and done.returncode == 2:
            sys.exit(f"explore does not understand {' '.join(arguments)}")
        told = [line for line in (done.stdout + done.stderr).splitlines()
                if line.startswith(("FAILED", "not ok")) or "ssert" in line]
        return f"{name}: " + (told or [f"exit status {done.returncode}"])[0].replace("FAILED ", "")[:110]

    def verdict(self, mutant):
        place = self.tree / mutant.path.relative_to(ROOT)
        right = place.read_text()
        place.write_text(mutant.text)
        try:
            for way in WEAK_WAYS if mutant.kind == "order" else OTHER_WAYS:
                complaint = self.complaint(way)
                if complaint:
                    return complaint
            return None
        finally:
            place.write_text(right)


class Bench:
    """Workshops, one a worker, made when first needed."""

    def __init__(self, folder):
        self.folder = folder
        self.mine = threading.local()
        self.lock = threading.Lock()
        self.made = 0

    def verdict(self, mutant):
        if not hasattr(self.mine, "workshop"):
            with self.lock:
                self.made += 1
                number = self.made
            self.mine.workshop = Workshop(Path(self.folder) / str(number))
        return mutant, self.mine.workshop.verdict(mutant)


def record(results, seconds):
    folder = ROOT / "build/verification"
    folder.mkdir(parents=True, exist_ok=True)
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    dirty = subprocess.run(["git", "-C", str(ROOT), "status", "--porcelain"], capture_output=True, text=True)
    name = commit.stdout.strip() + ("-dirty" if dirty.stdout.strip() else "")
    figures = {"commit": name, "seconds": round(seconds)}
    kinds = sorted({m.kind for m, _ in results})
    for kind in kinds:
        of_kind = [(m, caught) for m, caught in results if m.kind == kind]
        figures[kind] = len(of_kind)
        figures[kind + "_caught"] = sum(caught is not None for _, caught in of_kind)
        figures[kind + "_known"] = sum(caught is None and m.key in KNOWN for m, caught in of_kind)
    figures["known"] = {m.name: KNOWN[m.key] for m, caught in results if caught is None and m.key in KNOWN}
    figures["survivors"] = [m.name for m, caught in results if caught is None and m.key not in KNOWN]
    file = "mutants.json" if len(kinds) > 1 else "mutants-orders.json"
    (folder / file).write_text(json.dumps(figures, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="listed and generated mutants too (default: orders only)")
    parser.add_argument("--skip-known", action="store_true", help="leave out those whose reason is written down")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="workshops (one a processor)")
    parser.add_argument("--list", action="store_true", help="name the mutants")
    parser.add_argument("names", nargs="*", help="only mutants with one of these in their name")
    options = parser.parse_args()
    mutants = list(order_mutants())
    if options.all or options.names:
        mutants += [*listed_mutants(), *generated_mutants()]
    mutants = [m for m in unique(mutants) if not options.names or any(part in m.name for part in options.names)]
    if options.skip_known:
        mutants = [m for m in mutants if m.key not in KNOWN]
    if options.list:
        print(*(m.name for m in mutants), sep="\n")
        return
    results, begin = [], time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        with concurrent.futures.ThreadPoolExecutor(options.workers) as pool:
            for mutant, caught in pool.map(bench.verdict, mutants):
                results.append((mutant, caught))
                why = KNOWN.get(mutant.key)
                verdict = "caught  " if caught else "known   " if why else "SURVIVED"
                print(f"{verdict}  {mutant.name}: {caught or why or ''}", flush=True)
    survivors = [m for m, caught in results if caught is None and m.key not in KNOWN]
    seconds = time.monotonic() - begin
    if not options.names:
        record(results, seconds)
    print(f"{len(mutants)} mutants, {len(mutants) - len(survivors)} caught or known, {len(survivors)} survived, "
          f"{seconds:.0f} s")
    sys.exit(1 if survivors or not mutants else 0)


if __name__ == "__main__":
    main()
