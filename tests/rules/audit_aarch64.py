#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles lfma/ for aarch64, with every compiler that is there and in every way to make atomics, and reads the
machine code: does each atomic instruction order what the operation of base/atomic.h that it comes from is named for?

The line tables say which operation that is. Each operation is compiled alone too, with its result used and thrown
away, and so are libgcc's helpers. An order must not be weaker than its name, nor stronger, but for what aarch64 does
not tell apart. What acquires must have a register for the old value: with the zero register it acquires nothing. The
status of a store-exclusive must be looked at. No barriers, no calls of an atomics library.

Exit status: 0, 1 with build: function:address: rule: reason, or 77 without a compiler for aarch64."""
import concurrent.futures
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from aarch64 import BARRIERS, HELPER, HELPER_ORDERS, ORDERS, ZERO, read_listing, status_is_read
from common import run

RULES = ["weaker", "stronger", "no-result", "status", "barrier", "library-call", "unnamed", "plain"]

DOOR = "lfma/base/atomic.h"
CROSS = "" if platform.machine() == "aarch64" else "aarch64-linux-gnu-"
HEADERS = ["-isystem", "/usr/aarch64-linux-gnu/include"] if CROSS else []
COMPILERS = {"gcc": [CROSS + "gcc"], "clang": ["clang", "--target=aarch64-linux-gnu", *HEADERS]}
FLAGS = ["-std=c11", "-g", "-DNDEBUG", "-D_GNU_SOURCE", "-fPIC", "-fvisibility=hidden", "-w"]
# Exclusives; calls of libgcc's helpers; single instructions, and with them the weaker acquiring load of ARMv8.3.
WAYS = {"exclusive": ["-O2", "-march=armv8-a", "-mno-outline-atomics"],
        "outline": ["-O2", "-march=armv8-a", "-moutline-atomics"],
        "lse": ["-O2", "-march=armv8.1-a"],
        "rcpc": ["-O3", "-march=armv8.3-a+rcpc"]}
OPERATION = re.compile(r"^static inline ([\w ]+?)\s*(lfma__a(?:8|64)_(\w+)_([a-z]+))\(([^)]*)\)\n\{.*?^\}",
                       re.MULTILINE | re.DOTALL)


class Operation:
    """One function of the door: where it stands, what it does, what its name promises."""

    def __init__(self, text, match):
        self.returns, self.name, self.verb, self.order, self.parameters = match.groups()
        self.lines = range(text.count("\n", 0, match.start()) + 1, text.count("\n", 0, match.end()) + 2)
        self.acquires, self.releases = ORDERS[self.order]
        # What a word's one writer does is a load and a store.
        self.is_rmw = self.verb not in ("load", "store") and not self.verb.startswith("own_")
        self.is_plain = not self.is_rmw and self.order == "relaxed"

    def probes(self):
        """C functions that do this operation alone; one throws the result away."""
        arguments = ", ".join(re.findall(r"(\w+)(?:,|$)", self.parameters))
        call = f"{self.name}({arguments})"
        returns = "" if self.returns == "void" else "return "
        texts = [f"{self.returns} probe__{self.name}({self.parameters}) {{ {returns}{call}; }}"]
        if self.is_rmw and self.verb != "exchange":  # which may become a store: nobody throws its result away
            texts.append(f"void thrown__{self.name}({self.parameters}) {{ (void){call}; }}")
        if self.verb in ("and", "or"):
            texts += [f"void constant{n}__{self.name}(lfma__a64 *a) {{ (void){self.name}(a, {value}); }}"
                      for n, value in enumerate(("0", "UINT64_MAX"))]
        return texts


class Helper:
    """A function of libgcc, by its name."""

    def __init__(self, name):
        self.name, self.order = name, HELPER_ORDERS[HELPER.fullmatch(name).group(1)]
        self.acquires, self.releases = ORDERS[self.order]
        self.is_rmw = True


class Audit:
    """One build: complaints and counts."""

    def __init__(self, report, build, door, operations):
        self.report, self.build, self.door, self.operations = report, build, str(door), operations
        self.functions = self.rmws = 0
        self.seen = set()

    def complain(self, function, instruction, rule, reason):
        self.report.add(f"{self.build}: {function}", instruction.address, rule, f"{instruction.text}: {reason}")

    def operation_at(self, place):
        if place is None or os.path.realpath(place[0]) != self.door:
            return None
        return next((operation for operation in self.operations if place[1] in operation.lines), None)

    def check_order(self, function, instruction, operation):
        for has, wanted, word in ((instruction.acquires, operation.acquires, "acquire"),
                                  (instruction.releases, operation.releases, "release")):
            if has is not None and has != wanted:
                self.complain(function, instruction, "weaker" if wanted else "stronger",
                              f"{operation.name} {'must' if wanted else 'need not'} {word}")
        if operation.is_rmw and not (instruction.is_rmw or instruction.is_exclusive_load):
            self.complain(function, instruction, "plain", f"{operation.name} must read, modify and write in one step")
        if operation.order == "sc" and instruction.mnemonic.startswith("ldap"):
            self.complain(function, instruction, "weaker", f"{operation.name} must be an ldar, not an ldapr")
        if operation.acquires and instruction.old_value in ZERO:
            self.complain(function, instruction, "no-result",
                          f"{operation.name}: without a register for the old value it acquires nothing")

    def check(self, function, code, named=None):
        """`named`: the operation that all of this function's atomics belong to."""
        self.functions += 1
        for index, instruction in enumerate(code):
            if instruction.mnemonic in BARRIERS:
                self.complain(function, instruction, "barrier", "there are no fences in the library")
            if re.match(r"__(atomic|sync)_", instruction.called or ""):
                self.complain(function, instruction, "library-call", "a library's atomics may take locks")
            if not instruction.is_atomic:
                continue
            operation = named or self.operation_at(instruction.place)
            if operation is None:
                self.complain(function, instruction, "unnamed", f"comes from no operation of {DOOR}")
                continue
            self.seen.add(operation.name)
            self.rmws += instruction.is_rmw
            self.check_order(function, instruction, operation)
            if instruction.is_exclusive_store and not status_is_read(code, index):
                self.complain(function, instruction, "status", "whether it stored is never looked at")

    def check_probe(self, function, code, operation):
        """A function of one operation, which must be found in it."""
        self.check(function, code, operation)
        if not operation.is_plain and not any(i.is_rmw if operation.is_rmw else i.is_atomic for i in code):
            self.report.add(f"{self.build}: {function}", "0", "plain", f"{operation.name} left no atomic instruction")

    def check_seen(self, used):
        """Each operation that the library uses has left an atomic instruction, if it is no plain load or store."""
        for operation in self.operations:
            if operation.name in used and not operation.is_plain and operation.name not in self.seen:
                self.report.add(f"{self.build}: lfma/", "0", "plain", f"{operation.name} left no atomic instruction")


def command(words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stderr}")
    return done.stdout


def listing(binary):
    return read_listing(command([CROSS + "objdump", "-d", "-l", "-r", "--no-show-raw-insn", binary]))


def compile_and_list(words, source, binary):
    command([*words, "-c", "-o", binary, source])
    return listing(binary)


def audit_build(parsed, report, build, operations, pool):
    """Both figures of one build."""
    compiler, way = build
    scratch = Path(tempfile.mkdtemp(dir=parsed.scratch))
    words = [*COMPILERS[compiler], *FLAGS, *WAYS[way], f"-I{parsed.root / 'include'}", f"-I{parsed.root / 'lfma'}"]
    name = f"{compiler} {' '.join(WAYS[way])}"
    sources = sorted((parsed.root / "lfma").glob("*/*.c"))
    library = Audit(report, name, parsed.root / DOOR, operations)
    listings = pool.map(lambda pair: compile_and_list(words, pair[1], scratch / f"{pair[0]}.o"), enumerate(sources))
    for functions in listings:
        for function, code in functions.items():
            library.check(function, code)
    used = set(re.findall(r"\blfma__a(?:8|64)_\w+", "".join(
        path.read_text(encoding="utf-8") for path in (parsed.root / "lfma").glob("*/*.[ch]")
        if path != parsed.root / DOOR)))
    library.check_seen(used)

    alone = Audit(report, name, parsed.root / DOOR, operations)
    probes = scratch / "probes.c"
    probes.write_text('#include "base/atomic.h"\n' + "\n".join(t for o in operations for t in o.probes()) + "\n",
                      encoding="utf-8")
    by_name = {operation.name: operation for operation in operations}
    for function, code in compile_and_list(words, probes, scratch / "probes.o").items():
        alone.check_probe(function, code, by_name[function.split("__", 1)[1]])
    if way == "outline" and compiler == "gcc":
        command([*COMPILERS[compiler], "-shared", "-nostdlib", "-o", scratch / "helpers.so", scratch / "probes.o",
                 "-lgcc"])
        for function, code in listing(scratch / "helpers.so").items():
            if HELPER.fullmatch(function):
                alone.check(function, code, Helper(function))
    return library.functions + alone.functions, library.rmws + alone.rmws


def check(parsed, report):
    builds = [(compiler, way) for compiler in parsed.compilers for way in parsed.ways
              if shutil.which(COMPILERS[compiler][0])]
    if not builds or not shutil.which(CROSS + "gcc") or not shutil.which(CROSS + "objdump"):
        print(f"no {CROSS}gcc")
        sys.exit(77)
    text = (parsed.root / DOOR).read_text(encoding="utf-8")
    operations = [Operation(text, match) for match in OPERATION.finditer(text)]
    functions = rmws = 0
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        parsed.scratch = scratch
        for build in builds:
            of_functions, of_rmws = audit_build(parsed, report, build, operations, pool)
            functions += of_functions
            rmws += of_rmws
    print(f"{len(builds)} builds, {functions} functions, {rmws} read-modify-writes, {len(report.found)} complaints")
    if parsed.json:
        parsed.json.write_text(json.dumps({"audit_builds": len(builds), "audit_functions": functions,
                                           "audit_rmw": rmws, "audit_complaints": len(report.found)}) + "\n",
                               encoding="utf-8")


def options(parser):
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS), help="to make atomics")
    parser.add_argument("--compilers", nargs="+", choices=COMPILERS, default=list(COMPILERS))
    parser.add_argument("--json", type=Path, metavar="FILE", help="the figures")


if __name__ == "__main__":
    run(__doc__, RULES, check, options)
