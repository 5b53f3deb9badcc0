#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every atomic of the library goes through base/atomic.h and bears its ordering edge in a comment; every edge is
defined in docs/ORDERING.md and has both its ends. Exit status: 0, or 1 with file:line: rule: reason.

A call of the door's functions needs, on its line or in a comment that touches the three lines above it,
  E<n>.release, E<n>.acquire or E<n>.sc   an end of edge n, of a kind that the operation's name can give; or
  E0: words                               for a relaxed operation: why relaxed is enough.
The comment may also stand inside the call or at the end of its last line.
What a comment says after "pairs with" names the other end and is not counted as an end."""
import re

from common import Source, c_sources, run

RULES = ["fence", "raw-atomic", "long", "volatile", "inner-word", "no-edge", "wrong-end", "no-reason",
         "undefined-edge", "unused-edge", "one-ended-edge"]

DOOR = "lfma/base/atomic.h"
LINES_ABOVE = 3
ENDS_OF = {"relaxed": set(), "acquire": {"acquire"}, "release": {"release"}, "acqrel": {"acquire", "release"},
           "sc": {"acquire", "release", "sc"}}
FENCE = r"\b(atomic_thread_fence|__atomic_\w*fence|__sync_synchronize|smp_\w*mb|ck_pr_fence_\w+)\b"
RAW = r"\b(_Atomic|atomic_\w+|__atomic_\w+|__sync_\w+|memory_order_\w+|ck_pr_\w+)\b"
END = re.compile(r"\bE([1-9]\d*)\.(release|acquire|sc)\b")
EDGE = re.compile(r"\bE(\d+)(?=\.(?:release|acquire|sc)\b|:)")
PARTNER = re.compile(r"\bpairs?\s+with\s+E\d+\.\w+(?:\s*(?:,|and|or|,\s*and)\s+E\d+\.\w+)*")
REASON = re.compile(r"\bE0\b[:,]?\s+[A-Za-z]")
DEFINITION = re.compile(r"^(?:#+|\|)\s*[*`]*E(\d+)\b")


def door_functions(root):
    """What base/atomic.h defines, but for the compiler's barrier, which orders no two threads."""
    door = Source(root, root / DOOR)
    names = {match.group(1) for _, match in door.find(r"^static inline [\w ]+?\**(lfma__\w+)\s*\(")}
    return names - {"lfma__signal_fence"}


def plain(comment):
    """A comment's words on one line, without its stars."""
    return " ".join(re.sub(r"^\s*(/\*+|\*+/|\*|//)|\*/\s*$", " ", line) for line in comment.splitlines())


def last_line_of_call(source, opening):
    """The line of the parenthesis that closes the one at offset `opening`."""
    depth = 0
    for offset in range(opening, len(source.code)):
        depth += {"(": 1, ")": -1}.get(source.code[offset], 0)
        if depth == 0:
            return source.line(offset)
    return source.line(opening)


def comment_near(source, line, last_of_call):
    return " ; ".join(plain(text) for first, last, text in source.comments
                      if last >= line - LINES_ABOVE and first <= last_of_call)


def check_site(report, source, match, ends):
    line, function = source.line(match.start()), match.group(1)
    comment = comment_near(source, line, last_line_of_call(source, match.end() - 1))
    own = PARTNER.sub(" ", comment)
    order = function.rsplit("_", 1)[-1]
    possible = ENDS_OF.get(order, ENDS_OF["sc"])
    found = END.findall(own)
    good = [(edge, end) for edge, end in found if end in possible]
    for edge, end in good:
        ends.setdefault(int(edge), []).append((end, source.name, line))
    if good:
        return
    if re.search(r"\bE0\b", own) and (order == "relaxed" or not found):
        if order != "relaxed":
            report.add(source.name, line, "wrong-end", f"{function} is not relaxed, but its comment says E0")
        elif not REASON.search(own):
            report.add(source.name, line, "no-reason", f"{function}: E0 needs words: why relaxed is enough")
    elif found:
        told = ", ".join(f"E{edge}.{end}" for edge, end in found)
        report.add(source.name, line, "wrong-end", f"{function} cannot be {told}")
    else:
        report.add(source.name, line, "no-edge", f"{function} without its edge, E<n>.<end> or E0: why")


def check_source(report, source, functions, ends, mentioned):
    for line, match in source.find(FENCE):
        report.add(source.name, line, "fence", f"`{match.group(0)}`: race detectors do not see fences")
    for line, match in source.find(r"\bvolatile\b"):
        report.add(source.name, line, "volatile", "volatile orders nothing")
    for first, _, text in source.comments:
        for edge in EDGE.findall(text):
            mentioned.setdefault(int(edge), (source.name, first))
    if source.name == DOOR:
        return
    for line, match in source.find(RAW):
        if not re.fullmatch(FENCE, match.group(0)):
            report.add(source.name, line, "raw-atomic", f"`{match.group(0)}`: only in {DOOR}")
    for line, match in source.find(r"(->|\.)\s*value\b"):
        report.add(source.name, line, "inner-word", f"`{match.group(0)}`: an atomic's word is for {DOOR} alone")
    for _, match in source.find(r"\b(lfma__\w+)\s*\("):
        if match.group(1) in functions or re.match(r"lfma__a(8|64)_", match.group(1)):
            check_site(report, source, match, ends)


def check_edges(report, root, ends, mentioned):
    defined = {}
    ordering = root / "docs" / "ORDERING.md"
    if ordering.is_file():
        for number, text in enumerate(ordering.read_text(encoding="utf-8").splitlines(), 1):
            match = DEFINITION.match(text)
            if match:
                defined.setdefault(int(match.group(1)), number)
    for edge, (name, line) in mentioned.items():
        if edge not in defined and edge != 0:
            report.add(name, line, "undefined-edge", f"E{edge} is not defined in docs/ORDERING.md")
    for edge, line in defined.items():
        if edge not in ends and edge != 0:
            report.add("docs/ORDERING.md", line, "unused-edge", f"E{edge} has no end in lfma/")
    for edge, sites in ends.items():
        kinds = [end for end, _, _ in sites]
        if not ({"release", "acquire"} <= set(kinds) or kinds.count("sc") >= 2):
            _, name, line = sites[0]
            report.add(name, line, "one-ended-edge",
                       f"E{edge} has only {', '.join(sorted(set(kinds)))}: needs release and acquire, or two sc")


def check(parsed, report):
    functions = door_functions(parsed.root)
    ends, mentioned = {}, {}
    for source in c_sources(parsed.root, "lfma"):
        check_source(report, source, functions, ends, mentioned)
    for source in c_sources(parsed.root, "lfma", "include"):
        for line, _ in source.find(r"\blong\b"):
            report.add(source.name, line, "long", "`long` has another size elsewhere: uint64_t and its like")
    check_edges(report, parsed.root, ends, mentioned)


if __name__ == "__main__":
    run(__doc__, RULES, check)
