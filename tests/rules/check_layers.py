#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A room of lfma/ uses only the rooms below it, through the header that bears the room's name; each dependency on
the outside has one door; zone and below know no operating system.

Exit status: 0, or 1 with file:line: rule: reason."""
import re
from pathlib import PurePosixPath

from common import c_sources, run

# Bottom to top.
ROOMS = ["base", "bitmap", "os", "zone", "cache", "arena", "share", "pool", "heap", "observe"]
# Rooms that know nothing of the operating system, memory or threads.
PURE = ["base", "bitmap", "zone"]

# Headers of the C library that any room may use.
FREE_HEADERS = {"inttypes.h", "limits.h", "stdalign.h", "stdarg.h", "stdbool.h", "stddef.h", "stdint.h", "string.h"}
# And those that rooms above the pure ones may use.
UPPER_HEADERS = {"stdlib.h"}
# Header → its door: a file, or a folder that ends in a slash.
DOORS = [
    (r"stdatomic\.h", "base/atomic.h"),
    (r"ck_\w+\.h", "base/ck.h"),
    (r"assert\.h", "base/assert.h"),
    (r"sys/sdt\.h", "base/probe.h"),
    (r"sys/mman\.h|time\.h|pthread\.h|unistd\.h|sched\.h|sys/syscall\.h|sys/auxv\.h|sys/types\.h|sys/stat\.h|"
     r"fcntl\.h|signal\.h|errno\.h|linux/.*", "os/"),
]

NEVER = [
    (r"(?<![\w.>])(abort|exit|_exit|_Exit|quick_exit)\s*\(", "the library does not end the program"),
    (r"(?<![\w.>])(sleep|usleep|nanosleep|clock_nanosleep|sched_yield|pthread_cond_\w*wait|poll|select|futex)\s*\(",
     "the library waits for nobody"),
    (r"(?<![\w.>])(v?[fsd]?n?printf|puts|fputs|perror|fwrite|putchar)\s*\(", "the library does not print"),
]
# os saves and restores it around its calls.
NEVER_OUTSIDE_OS = [
    (r"(?<![\w.>])errno\b", "only os may name it, to leave it as it was"),
]
NEVER_IN_PURE = [
    (r"\b(_Thread_local|__thread|thread_local)\b", "no thread-local storage in zone and below"),
    (r"(?<![\w.>])(malloc|calloc|realloc|free|aligned_alloc|posix_memalign|alloca)\s*\(",
     "no allocation in zone and below"),
    (r"(?<![\w.>])(clock_gettime|clock_nanosleep|gettimeofday|nanosleep|timespec_get)\s*\(",
     "no clock in zone and below but the one handed in"),
    (r"(?<![\w.>])(mmap|munmap|mremap|madvise|mprotect|syscall|sched_yield|sysconf|getpid|gettid|pthread_\w+|sysctl)"
     r"\s*\(", "no call of the operating system in zone and below"),
]

RULES = ["room", "upward", "back-door", "not-included", "door", "header", "never", "errno", "pure"]


def check_quoted(report, root, source, room, line, name):
    path = PurePosixPath(name)
    if name.endswith(".c") or ".." in path.parts:
        report.add(source.name, line, "not-included", f'"{name}": only headers are included, by "room/header.h"')
        return
    target = path.parts[0] if len(path.parts) > 1 else room
    if target == room:
        if not (root / "lfma" / room / path.name).is_file():
            report.add(source.name, line, "not-included", f'"{name}": no such header in lfma/{room}')
        return
    if target not in ROOMS:
        report.add(source.name, line, "not-included", f'"{name}": no room of that name')
        return
    if ROOMS.index(target) > ROOMS.index(room) or (target == "os" and room in PURE):
        report.add(source.name, line, "upward", f'"{name}": {room} may not use {target}')
    elif name != f"{target}/{target}.h":
        report.add(source.name, line, "back-door", f'"{name}": {target} is used through "{target}/{target}.h"')


def check_angled(report, root, source, room, line, name):
    if name.startswith("lfma/"):
        if not (root / "include" / name).is_file():
            report.add(source.name, line, "not-included", f"<{name}>: no such public header")
        return
    for pattern, door in DOORS:
        if re.fullmatch(pattern, name):
            here = source.name[len("lfma/"):]
            if not (here.startswith(door) if door.endswith("/") else here == door):
                report.add(source.name, line, "door", f"<{name}>: only in lfma/{door}")
            return
    if name not in FREE_HEADERS and (name not in UPPER_HEADERS or room in PURE):
        report.add(source.name, line, "header", f"<{name}>: not for {room} (see the lists in check_layers.py)")


def check_source(report, root, source):
    room = source.name.split("/")[1]
    if room not in ROOMS:
        report.add(source.name, 1, "room", f"lfma/{room} is no room; rooms: {', '.join(ROOMS)}")
        return
    for line, kind, name in source.includes():
        if kind == '"':
            check_quoted(report, root, source, room, line, name)
        elif kind == "<":
            check_angled(report, root, source, room, line, name)
        elif source.name != "lfma/base/atomic.h":
            report.add(source.name, line, "not-included", f"{name}: only base/atomic.h includes by a macro")
    banned = [("never", NEVER)] if source.name != "lfma/base/assert.h" else []
    if room != "os":
        banned.append(("errno", NEVER_OUTSIDE_OS))
    if room in PURE:
        banned.append(("pure", NEVER_IN_PURE))
    for rule, patterns in banned:
        for pattern, reason in patterns:
            for line, match in source.find(pattern):
                report.add(source.name, line, rule, f"`{match.group(0).strip()}`: {reason}")


def check(parsed, report):
    for source in c_sources(parsed.root, "lfma"):
        check_source(report, parsed.root, source)


if __name__ == "__main__":
    run(__doc__, RULES, check)
