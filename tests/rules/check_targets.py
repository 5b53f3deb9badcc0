#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A 32-bit target is refused when the library is compiled, and the first thing the compiler says is why; a 64-bit
target is not refused. Tries every compiler that is there, without any C library. Exit status: 0, 1 with
file:line: rule: reason, or 77 if no compiler here knows a 32-bit target."""
import shutil
import subprocess
import sys

from common import run

RULES = ["accepted", "message", "refused"]

DOOR = "lfma/base/atomic.h"
MESSAGE = "LFMA needs a 64-bit target"
SMALL = [["gcc", "-m32"], ["gcc", "-mx32"], ["i686-linux-gnu-gcc"], ["arm-linux-gnueabihf-gcc"],
         *(["clang", f"--target={cpu}-linux-gnu"] for cpu in ("i686", "armv7", "riscv32"))]
LARGE = [["gcc"], ["aarch64-linux-gnu-gcc"],
         *(["clang", f"--target={cpu}-linux-gnu"] for cpu in ("x86_64", "aarch64"))]


def compile_base(root, words, source='#include "base/base.h"\n'):
    return subprocess.run([*words, "-std=c11", "-ffreestanding", "-fsyntax-only", "-DNDEBUG", f"-I{root / 'lfma'}",
                           "-x", "c", "-"], input=source, capture_output=True, text=True, check=False)


def usable(root, targets):
    """The targets whose compiler is there and knows them."""
    return [words for words in targets
            if shutil.which(words[0]) and compile_base(root, words, "#include <stdint.h>\n").returncode == 0]


def error_lines(done):
    return [line for line in done.stderr.splitlines() if "error: " in line]


def check(parsed, report):
    small = usable(parsed.root, SMALL)
    if not small:
        print("no compiler for a 32-bit target")
        sys.exit(77)
    for words in small:
        done = compile_base(parsed.root, words)
        errors = error_lines(done)
        if done.returncode == 0:
            report.add(DOOR, 1, "accepted", f"{' '.join(words)} compiles it")
        elif not errors or MESSAGE not in errors[0]:
            report.add(DOOR, 1, "message", f"{' '.join(words)} says first: {errors[0] if errors else done}")
    for words in usable(parsed.root, LARGE):
        done = compile_base(parsed.root, words)
        if done.returncode != 0:
            report.add(DOOR, 1, "refused", f"{' '.join(words)} does not compile it: {error_lines(done)[:1]}")


if __name__ == "__main__":
    run(__doc__, RULES, check)
