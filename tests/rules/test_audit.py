#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The audit of aarch64 code can fail: it is run on the lower rooms as they are, and with one fault for every rule it
has. Speaks TAP; exit status 0, 1, or 77 without a compiler for aarch64."""
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from common import tap

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DOOR = "lfma/base/atomic.h"
TABLE = "lfma/bitmap/table.c"
OTHERS = {"coalesce.c", "layout.c", "survey.c", "validate.c"}  # for time
RAW_CLAIM = "#include <stdint.h>\nuint64_t f(uint64_t *w);\nuint64_t f(uint64_t *w) { return "
# Compilers that are right do not write these: what the faulty ones wrote stands here by hand.
THROWN_SWAP = """uint64_t old = 0;
    __asm__ volatile("ldclral %1, xzr, [%0]" : : "r"(a), "r"(bits) : "memory");
    return old + bits;"""
UNLOOKED_STORE = """uint64_t old;
    __asm__ volatile("ldaxr %0, [%1]\\n\\tstlxr wzr, %2, [%1]" : "=&r"(old) : "r"(a), "r"(bits) : "memory");
    return old;"""
WEAK_LOAD = """uint64_t value;
    __asm__ volatile("ldapr %0, [%1]" : "=r"(value) : "r"(a) : "memory");
    return value;"""
UNREAD_STATUS = UNLOOKED_STORE.replace("wzr", "w9").replace('"memory"', '"memory", "w9"')


def function(operation):
    """Its text in the door, from its name on."""
    whole = (ROOT / DOOR).read_text(encoding="utf-8")
    start = whole.index(f" {operation}(")
    return whole[start:whole.index("\n}", start)]


def body(operation, text):
    """The function with another body."""
    old = function(operation)
    return DOOR, old, f"{old[:old.index('{')]}{{\n    {text}"


def order(operation, instead):
    """The function with another memory order."""
    old = function(operation)
    return DOOR, old, f"{old[:old.index('memory_order_')]}memory_order_{instead});"


FENCE = body("lfma__a64_and_acqrel", "atomic_thread_fence(memory_order_seq_cst);\n"
             "    return atomic_fetch_and_explicit(&a->value, bits, memory_order_acq_rel);")
NO_RESULT, STATUS = body("lfma__a64_and_acqrel", THROWN_SWAP), body("lfma__a64_and_acqrel", UNLOOKED_STORE)
UNREAD, PLAIN = body("lfma__a64_and_acqrel", UNREAD_STATUS), body("lfma__a64_or_sc", """uint64_t *const w = (void *)a;
    const uint64_t old = *w;
    *w = old | bits;
    return old;""")
LDAPR = body("lfma__a64_load_sc", WEAK_LOAD)
NOT_HIDDEN = DOOR, "lfma__opaque(bits), memory_order_release", "bits, memory_order_release"

# (rule, what is wrong, ways, compilers, (file, text, what replaces it; "" for the text: the whole file))
BAD = [
    *(("weaker", f"a claim that does not acquire, {way}", way, None, order("lfma__a64_and_acqrel", "release"))
      for way in ("exclusive", "outline", "lse")),
    *(("weaker", f"a publish that does not release, {way}", way, None, order("lfma__a64_or_sc", "acquire"))
      for way in ("exclusive", "outline", "lse")),
    ("weaker", "a relaxed add for a releasing one", "lse", None, order("lfma__a64_add_release", "relaxed")),
    ("weaker", "a re-check that only acquires", "rcpc", None, LDAPR),
    ("stronger", "a relaxed load that acquires", "lse", None, order("lfma__a64_load_relaxed", "acquire")),
    ("stronger", "a relaxed or that orders all", "outline", None, order("lfma__a64_or_relaxed", "seq_cst")),
    ("plain", "a load that does not acquire", "exclusive", None, order("lfma__a64_load_acquire", "relaxed")),
    ("plain", "a store that does not release", "exclusive", None, order("lfma__a64_store_release", "relaxed")),
    ("plain", "an or that is a load and a store", "lse", None, PLAIN),
    ("plain", "an and of a constant that becomes a store", "lse", ["clang"], NOT_HIDDEN),
    ("no-result", "an acquiring and whose old value goes nowhere", "lse", None, NO_RESULT),
    ("status", "a store-exclusive without a status", "exclusive", None, STATUS),
    ("status", "a status that nobody reads", "exclusive", None, UNREAD),
    ("barrier", "a fence", "lse", None, FENCE),
    ("library-call", "128 bits", "exclusive", None,
     (TABLE, "", RAW_CLAIM + "(uint64_t)__atomic_load_n((unsigned __int128 *)w, 2); }\n")),
    ("unnamed", "an atomic that does not come through the door", "lse", None,
     (TABLE, "", RAW_CLAIM + "__atomic_fetch_and(w, 1, 4); }\n")),
]


def run_audit(way, compilers, change):
    """(exit status, what it said) on the lower rooms, with a change."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for part in ("include", "lfma/base", "lfma/bitmap", "lfma/zone"):
            shutil.copytree(ROOT / part, root / part, ignore=lambda _, names: OTHERS & set(names))
        if change:
            name, old, new = change
            text = (root / name).read_text(encoding="utf-8")
            if old and text.count(old) != 1:
                return 2, f"{name} has {text.count(old)} times: {old}"
            (root / name).write_text(text.replace(old, new) if old else new, encoding="utf-8")
        words = [sys.executable, str(HERE / "audit_aarch64.py"), "--root", folder, "--ways", way]
        done = subprocess.run(words + (["--compilers", *compilers] if compilers else []), capture_output=True,
                              text=True, check=False)
        return done.returncode, done.stdout + done.stderr


def cases():
    status, said = run_audit("exclusive", None, None)
    if status == 77:
        print(f"1..0 # SKIP {said}")
        sys.exit(77)
    yield "the lower rooms as they are pass", None if status == 0 else said
    for rule, what, way, compilers, change in BAD:
        if compilers and not all(map(shutil.which, compilers)):
            yield f"{rule}: {what}", "skip: no " + " ".join(compilers)
            continue
        status, said = run_audit(way, compilers, change)
        rules = {line.split(": ")[2] for line in said.splitlines() if line.count(": ") >= 3}
        yield f"{rule}: {what}", None if status == 1 and rule in rules else f"status {status}, not {rule}:\n{said}"
    listed = subprocess.run([sys.executable, str(HERE / "audit_aarch64.py"), "--list-rules"], capture_output=True,
                            text=True, check=True).stdout.split()
    lacking = set(listed) - {row[0] for row in BAD}
    yield "every rule has a fixture that breaks it", f"none for {lacking}" if lacking else None


if __name__ == "__main__":
    sys.exit(tap(list(cases())))
