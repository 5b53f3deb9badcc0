#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The checkers can fail: each is run on a small good tree, and on that tree with one fault for every rule it has.
Speaks TAP; exit status 0 or 1."""
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from common import tap

HERE = Path(__file__).resolve().parent
LICENCE = "/* SPDX-License-Identifier: MIT */\n"
ATOMIC = LICENCE + """#if __SIZEOF_POINTER__ != 8
#error "LFMA needs a 64-bit target"
#endif
#include <stdatomic.h>
typedef struct { _Atomic(int) value; } lfma__a64;
static inline int lfma__a64_load_relaxed(const lfma__a64 *a)
{
    return atomic_load(&a->value);
}
static inline int lfma__a64_load_acquire(const lfma__a64 *a)
{
    return atomic_load(&a->value);
}
static inline void lfma__a64_store_release(lfma__a64 *a, int v)
{
    atomic_store(&a->value, v);
}
static inline int lfma__a64_or_sc(lfma__a64 *a, int v)
{
    return atomic_fetch_or(&a->value, v);
}
"""
ZONE = LICENCE + """#include <lfma/lfma.h>

#include "base/base.h"
#include "bitmap/bitmap.h"
#include "zone/zone.h"

/* E1.release, pairs with E1.acquire in look(). */
void put(lfma__a64 *a)
{
    lfma__a64_store_release(a, 1);
}

int look(lfma__a64 *a)
{
    const int hint = lfma__a64_load_relaxed(a); /* E0: a hint, the acquire decides */
    /*
     * E1.acquire: what the other thread did; a long comment, whose first line
     * stands far above
     * the call that it is about.
     */
    return hint + lfma__a64_load_acquire(a);
}

int both(lfma__a64 *a)
{
    return lfma__a64_or_sc(a, 1) /* E2.sc */ + lfma__a64_or_sc(a, 2); /* E2.sc */
}
"""
HEADER = LICENCE + """#ifndef LFMA_LFMA_H
#define LFMA_LFMA_H
#include <stdint.h>
#include "version.h"
#ifdef __cplusplus
extern "C" {
#endif
#define LFMA_API __attribute__((visibility("default")))
typedef struct lfma_budget { uint64_t ns; uint64_t steps; } lfma_budget;
#define LFMA_BUDGET_NS(n) { (n), 1 }
#define LFMA_BUDGET_NONE { 0, 0 }
typedef struct lfma_stats_t { uint64_t size; lfma_budget b; } lfma_stats_t;
#define LFMA_STATS_INIT { sizeof(lfma_stats_t), { 0, 0 } }
LFMA_API int lfma_alloc(int n);
#ifdef __cplusplus
}
#endif
#endif
"""
VERSION = LICENCE + """#define LFMA_VERSION_MAJOR 0
#define LFMA_VERSION_MINOR 1
#define LFMA_VERSION_PATCH 0
#define LFMA_VERSION_STRING "0.1.0"
"""
FAULTS = """# Faults

| id | fault | right here | test |
| --- | --- | --- | --- |
| A01 | a bit skipped | each once | `unit/a.c: first`, `stress/b.c` |
| A02 | the last one | found | `unit/a.c: second` |
| C11 | an acquire lost | kept | `unit/a.c: second` |
| D03 | a list | none | does not apply: there are no lists |
| E06 | a shift | none | build: the compiler says so |
"""
TESTS = LICENCE + """/* For the first. A01 */
Test(a, first)
{
}

/* A02 and fault C11, in C11 */
static void help(void)
{
}

Test(a, second)
{
    help();
}
"""
GOOD = {
    "docs/FAULTS.md": FAULTS,
    "tests/unit/a.c": TESTS,
    "tests/stress/b.c": LICENCE + "/*\n * Words. A01\n */\nint main(void)\n{\n}\n",
    "meson.build": "project('lfma', 'c',\n  version: '0.1.0')\n",
    "docs/ORDERING.md": "# Ordering\n\n## E1 the block\n\n| edge | what |\n| --- | --- |\n| E2 | the search bit |\n",
    "include/lfma/lfma.h": HEADER,
    "include/lfma/version.h": VERSION,
    "lfma/lfma.map": "LFMA_0.1 {\n  global:\n    lfma_alloc;\n  local:\n    *;\n};\n",
    "lfma/base/atomic.h": ATOMIC,
    "lfma/base/base.h": LICENCE + '#include "base/atomic.h"\n',
    "lfma/base/assert.h": LICENCE + "#include <assert.h>\n",
    "lfma/bitmap/bitmap.h": LICENCE + '#include "base/base.h"\n',
    "lfma/bitmap/table.h": LICENCE,
    "lfma/os/os.h": LICENCE,
    "lfma/os/os.c": LICENCE + '#include <errno.h>\n#include <pthread.h>\n#include <sys/mman.h>\n#include "os/os.h"\n',
    "lfma/zone/zone.h": LICENCE,
    "lfma/zone/zone.c": ZONE,
    "lfma/arena/arena.c": LICENCE + '#include <stdlib.h>\n#include "zone/zone.h"\n',
}


def append(path, text):
    return {path: GOOD[path] + text}


def long_function(lines):
    return "void long_one(void)\n{\n" + "    ;\n" * (lines - 3) + "}\n"


# (checker, rule, what is wrong, the files that make it wrong[, arguments])
BAD = [
    ("layers", "room", "a folder that is no room", {"lfma/attic/a.c": LICENCE}),
    ("layers", "upward", "zone uses arena", {"lfma/zone/a.c": LICENCE + '#include "arena/arena.h"\n'}),
    ("layers", "upward", "zone uses os, although it is below", {"lfma/zone/a.c": LICENCE + '#include "os/os.h"\n'}),
    ("layers", "back-door", "a lower room's inner header",
     {"lfma/zone/a.c": LICENCE + '#include "bitmap/table.h"\n'}),
    ("layers", "not-included", "a .c file", {"lfma/zone/a.c": LICENCE + '#include "zone/zone.c"\n'}),
    ("layers", "not-included", "a public header that is not there",
     {"lfma/zone/a.c": LICENCE + "#include <lfma/x.h>\n"}),
    ("layers", "door", "<stdatomic.h> in zone", {"lfma/zone/a.c": LICENCE + "#include <stdatomic.h>\n"}),
    ("layers", "door", "<ck_ring.h> in arena", {"lfma/arena/a.c": LICENCE + "#include <ck_ring.h>\n"}),
    ("layers", "door", "<pthread.h> in arena", {"lfma/arena/a.c": LICENCE + "#include <pthread.h>\n"}),
    ("layers", "door", "<linux/futex.h> in heap", {"lfma/heap/a.c": LICENCE + "#include <linux/futex.h>\n"}),
    ("layers", "door", "<sys/sdt.h> in os", {"lfma/os/a.c": LICENCE + "#include <sys/sdt.h>\n"}),
    ("layers", "door", "<assert.h> in zone", {"lfma/zone/a.c": LICENCE + "#include <assert.h>\n"}),
    ("layers", "header", "<stdio.h>", {"lfma/arena/a.c": LICENCE + "#include <stdio.h>\n"}),
    # C14: bitmap words are read one at a time, by atomics.
    ("layers", "header", "vectors", {"lfma/bitmap/a.c": LICENCE + "#include <immintrin.h>\n"}),
    ("layers", "header", "<stdlib.h> in zone", {"lfma/zone/a.c": LICENCE + "#include <stdlib.h>\n"}),
    ("layers", "never", "abort()", {"lfma/os/a.c": LICENCE + "void f(void) { abort(); }\n"}),
    # C08: what seems to need a sleep needs an order.
    ("layers", "never", "a sleep", {"lfma/os/a.c": LICENCE + "void f(void) { usleep(1000); }\n"}),
    ("layers", "never", "a yield", {"lfma/arena/a.c": LICENCE + "void f(void) { sched_yield(); }\n"}),
    ("layers", "never", "printf()", {"lfma/os/a.c": LICENCE + 'void f(void) { printf("x"); }\n'}),
    ("layers", "errno", "errno in arena", {"lfma/arena/a.c": LICENCE + "int f(void) { return errno; }\n"}),
    ("layers", "pure", "malloc in zone", {"lfma/zone/a.c": LICENCE + "void *f(void) { return malloc(1); }\n"}),
    ("layers", "pure", "a thread-local in base", {"lfma/base/a.c": LICENCE + "static _Thread_local int x;\n"}),
    ("layers", "pure", "a clock in bitmap",
     {"lfma/bitmap/a.c": LICENCE + "int f(void) { return clock_gettime(0, 0); }\n"}),
    ("layers", "pure", "a system call in zone", {"lfma/zone/a.c": LICENCE + "void f(void) { getpid(); }\n"}),
    ("atomics", "fence", "a fence", append("lfma/base/atomic.h", "void f(void) { atomic_thread_fence(0); }\n")),
    ("atomics", "raw-atomic", "_Atomic outside the door", append("lfma/zone/zone.c", "static _Atomic int x;\n")),
    ("atomics", "raw-atomic", "a builtin",
     append("lfma/zone/zone.c", "int f(int *x) { return __atomic_load_n(x, 0); }\n")),
    # E10
    ("atomics", "long", "long in lfma/", append("lfma/zone/zone.c", "static unsigned long x;\n")),
    ("atomics", "long", "long in include/", append("include/lfma/version.h", "typedef long lfma_x;\n")),
    ("atomics", "volatile", "volatile", append("lfma/zone/zone.c", "static volatile int x;\n")),
    # C13, C15: no access but through the door, so none that a compiler hoists and none of another width.
    ("atomics", "inner-word", "the word itself",
     append("lfma/zone/zone.c", "void f(lfma__a64 *a) { a->value = 1; }\n")),
    ("atomics", "no-edge", "no comment",
     append("lfma/zone/zone.c", "\n\n\n\nint f(lfma__a64 *a) { return lfma__a64_load_acquire(a); }\n")),
    ("atomics", "no-edge", "a comment too far above",
     append("lfma/zone/zone.c",
            "/* E1.acquire */\n\n\n\n\nint f(lfma__a64 *a) { return lfma__a64_load_acquire(a); }\n")),
    ("atomics", "no-edge", "only the other end is named", append(
        "lfma/zone/zone.c",
        "\n\n\n\nint f(lfma__a64 *a) { return lfma__a64_load_acquire(a); } /* pairs with E1.release */\n")),
    ("atomics", "wrong-end", "a relaxed load is no acquire", append(
        "lfma/zone/zone.c", "\n\n\n\nint f(lfma__a64 *a) { return lfma__a64_load_relaxed(a); } /* E1.acquire */\n")),
    ("atomics", "wrong-end", "an acquire load is no release", append(
        "lfma/zone/zone.c", "\n\n\n\nint f(lfma__a64 *a) { return lfma__a64_load_acquire(a); } /* E1.release */\n")),
    ("atomics", "wrong-end", "an acquire load is not E0", append(
        "lfma/zone/zone.c", "\n\n\n\nint f(lfma__a64 *a) { return lfma__a64_load_acquire(a); } /* E0: a hint */\n")),
    ("atomics", "no-reason", "E0 without words", append(
        "lfma/zone/zone.c", "\n\n\n\nint f(lfma__a64 *a) { return lfma__a64_load_relaxed(a); } /* E0 */\n")),
    ("atomics", "undefined-edge", "an edge that ORDERING.md does not know",
     append("lfma/zone/zone.c", "/* E9.acquire in another file */\n")),
    ("atomics", "unused-edge", "an edge without code", append("docs/ORDERING.md", "| E7 | nothing |\n")),
    ("atomics", "one-ended-edge", "the acquire is gone",
     {"lfma/zone/zone.c": GOOD["lfma/zone/zone.c"].replace("lfma__a64_load_acquire(a)", "0")}),
    ("atomics", "one-ended-edge", "one sc alone",
     {"lfma/zone/zone.c": GOOD["lfma/zone/zone.c"].replace(" + lfma__a64_or_sc(a, 2); /* E2.sc */", ";")}),
    ("headers", "alone", "a header that needs another", {"include/lfma/x.h": "static inline size_t lfma_x(void);\n"},
     "--part=c"),
    ("headers", "alone", "a header that is no C++", {"include/lfma/x.h": "extern int class;\n"}, "--part=cxx"),
    ("headers", "initialiser", "a member is missing",
     {"include/lfma/lfma.h": HEADER.replace("{ sizeof(lfma_stats_t), { 0, 0 } }", "{ sizeof(lfma_stats_t) }")},
     "--part=c"),
    ("headers", "initialiser", "a designated initialiser is no C++11",
     {"include/lfma/lfma.h": HEADER.replace("{ 0, 0 }\ntypedef", "{ .ns = 0, .steps = 0 }\ntypedef")}, "--part=cxx"),
    ("headers", "unmapped", "declared, not in lfma.map",
     {"include/lfma/lfma.h": HEADER.replace("LFMA_API int", "LFMA_API int lfma_new(void);\nLFMA_API int")},
     "--part=api"),
    ("headers", "undeclared", "in lfma.map, not declared",
     {"lfma/lfma.map": GOOD["lfma/lfma.map"].replace("lfma_alloc;", "lfma_alloc;\n    lfma_gone;")}, "--part=api"),
    ("headers", "version", "another version",
     {"meson.build": "project('lfma', 'c',\n  version: '0.2.0')\n"}, "--part=api"),
    ("headers", "unexported", "the library lacks a function", {"lib.c": "int lfma_other(void);\n"}, "--part=api"),
    ("headers", "exported", "the library has one more",
     {"lib.c": "int lfma_alloc(int n) { return n; }\nint lfma__secret(void) { return 1; }\n"}, "--part=api"),
    ("faults", "row", "neither a test nor a reason",
     {"docs/FAULTS.md": FAULTS.replace("does not apply: there are no lists", "none")}),
    ("faults", "row", "a reason without words", {"docs/FAULTS.md": FAULTS.replace("the compiler says so", "")}),
    ("faults", "row", "an id twice", {"docs/FAULTS.md": FAULTS + "| A01 | x | y | build: z |\n"}),
    ("faults", "row", "a cell is missing", {"docs/FAULTS.md": FAULTS.replace("| a list | none |", "| a list |")}),
    ("faults", "row", "a file of cases, and no case",
     {"docs/FAULTS.md": FAULTS.replace("`unit/a.c: first`", "`unit/a.c`")}),
    ("faults", "unknown-test", "no such case", {"tests/unit/a.c": TESTS.replace("Test(a, first)", "Test(a, other)")}),
    ("faults", "unknown-test", "no such file", append("docs/FAULTS.md", "| B01 | x | y | `unit/gone.c: first` |\n")),
    ("faults", "not-borne", "no comment has the id",
     {"tests/unit/a.c": TESTS.replace("For the first. A01", "For the first.")}),
    ("faults", "not-borne", "another test's comment has it",
     {"tests/unit/a.c": TESTS.replace("For the first. A01", "For the first.").replace("A02 and", "A01, A02 and")}),
    ("faults", "not-borne", "a word of the code is no comment",
     {"tests/stress/b.c": LICENCE + 'const char *A01 = "A01";\n'}),
    ("faults", "not-borne", "C11 is the language",
     {"tests/unit/a.c": TESTS.replace("fault C11, in C11", "what is C11")}),
    ("faults", "unlisted", "an id that the table does not know", append("tests/stress/b.c", "/* B07 */\n")),
    ("targets", "accepted", "nothing is refused", {"lfma/base/atomic.h": ATOMIC.replace("!= 8", "!= 8 && 0")}),
    ("targets", "message", "another message comes first",
     {"lfma/base/atomic.h": ATOMIC.replace("#if", "_Static_assert(sizeof(void *) == 8, \"?\");\n#if")}),
    ("targets", "refused", "everything is refused", {"lfma/base/atomic.h": ATOMIC.replace("!= 8", "!= 9")}),
    ("style", "file-length", "401 lines", {"lfma/zone/a.c": LICENCE + "\n" * 400}),
    ("style", "function-length", "71 lines", {"lfma/zone/a.c": LICENCE + long_function(71)}),
    ("style", "line-length", "119 columns", {"lfma/zone/a.c": LICENCE + "/* " + "x" * 113 + " */\n"}),
    ("style", "licence", "no licence line", {"lfma/zone/a.c": "int x;\n"}),
    ("style", "licence", "a script without one", {"tools/a": "#!/bin/sh\n"}),
    ("style", "unfinished", "a note to oneself", {"lfma/zone/a.c": LICENCE + "/* TO" + "DO */\n"}),
    ("style", "tab", "a tab", {"lfma/zone/a.c": LICENCE + "\tint x;\n"}),
    ("style", "trailing-blank", "a blank at the end", {"docs/a.md": "x \n"}),
    ("style", "last-line", "no newline at the end", {"docs/a.md": "x"}),
    ("style", "path", "a home folder", {"docs/a.md": "see /ho" + "me/someone/x\n"}),
    ("style", "path", "a shared folder", {"bench/a.csv": "../sha" + "red/x\n"}),
]
# What must not be complained of.
FINE = [
    ("style", "118 columns, 400 lines, 70 lines a function", {
        "lfma/zone/a.c": LICENCE + "/* " + "ü" * 112 + " */\n" + long_function(70) + "\n" * 328}),
    ("layers", "words in comments and strings", {
        "lfma/zone/a.c": LICENCE + '/* malloc(1); errno; abort() */\nconst char *x = "exit(1) malloc(2)";\n'}),
    ("atomics", "words in comments and strings", {
        "lfma/zone/a.c": LICENCE + '/* volatile long _Atomic */\nconst char *x = "volatile long";\n'}),
]


def write_tree(root, files):
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


def run_checker(checker, files, extra):
    """(exit status, what it printed) on the good tree with these files in place."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_tree(root, {**GOOD, **files})
        arguments = [sys.executable, str(HERE / f"check_{checker}.py"), "--root", str(root), *extra]
        if "lib.c" in files:
            library = root / "liblfma.so"
            subprocess.run(["cc", "-shared", "-fPIC", "-w", "-o", str(library), str(root / "lib.c")], check=True)
            arguments += ["--lib", str(library)]
        done = subprocess.run(arguments, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr


def cases():
    """(name, what it proves: None if it holds, else what was wrong; "skip: …" if it cannot be tried)."""
    checkers = sorted({row[0] for row in BAD})
    have_cxx = shutil.which("g++") or shutil.which("clang++")
    for checker in checkers:
        status, said = run_checker(checker, {}, [])
        yield f"{checker}: a good tree passes", None if status == 0 else said or f"exit status {status}"
    for checker, what, files in FINE:
        status, said = run_checker(checker, files, [])
        yield f"{checker}: fine: {what}", None if status == 0 else said
    for checker, rule, what, files, *extra in BAD:
        name = f"{checker}: {rule}: {what}"
        if extra == ["--part=cxx"] and not have_cxx:
            yield name, "skip: no C++ compiler"
            continue
        status, said = run_checker(checker, files, extra)
        rules = {line.split(": ")[1] for line in said.splitlines() if line.count(": ") >= 2}
        caught = status == 1 and rules == {rule}
        yield name, None if caught else f"exit status {status}, complained of {rules}:\n{said}"
    for checker in checkers:
        done = subprocess.run([sys.executable, str(HERE / f"check_{checker}.py"), "--list-rules"],
                              capture_output=True, text=True, check=True)
        lacking = set(done.stdout.split()) - {row[1] for row in BAD if row[0] == checker}
        yield f"{checker}: every rule has a fixture that breaks it", f"none for {lacking}" if lacking else None


if __name__ == "__main__":
    sys.exit(tap(list(cases())))
