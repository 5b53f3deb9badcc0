#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/FAULTS.md and the tests agree. Exit status: 0, or 1 with file:line: rule: reason.

A row of the table ends with what covers the fault: `file: test` in backquotes, one or more, where file is below
tests/ and test is the name of a case, or for a plain program nothing; or "does not apply: why"; or "explorer: what"
and "build: what" for what only a schedule, or only a compiler, can show. A test that is named exists, and bears the
fault's id in a comment: one above it or inside it, but below the test before; in a plain program, anywhere. Each id
in a comment of a test is in the table. C11 and C17 are also the language's: there they count after the word fault."""
import io
import re
import tokenize
from pathlib import Path

from common import Source, run

RULES = ["row", "unknown-test", "not-borne", "unlisted"]

TABLE = "docs/FAULTS.md"
ID = re.compile(r"\b([A-L]\d\d)\b")
LANGUAGES = {"C11", "C17"}
ROW = re.compile(r"^\|\s*([A-L]\d\d)\s*\|(.*)\|\s*$")
COVER = re.compile(r"`([\w/.]+)(?:: *([\w /-]+))?`")
WORDS = re.compile(r"(does not apply|explorer|build): \w")
# A case begins here; its name is in one of the groups.
CASE = re.compile(r"^(?:Test\(\s*\w+\s*,\s*(\w+)|TABLE_TEST\(\s*(\w+)|GEOMETRY\(\s*(\w+))", re.MULTILINE)
RULE_FIXTURE = re.compile(r'\("(\w+)", "([\w-]+)",')


def ids_in(text):
    found = set(ID.findall(text)) - LANGUAGES
    return found | {match for match in re.findall(r"\bfault (C1[17])\b", text)}


class Tests:
    """One file of tests: (line, id) of its comments, and the lines of each case."""

    def __init__(self, root, path):
        self.name = path.relative_to(root / "tests").as_posix()
        text = path.read_text(encoding="utf-8")
        self.cases = {}  # name → (first line of its stretch, last line)
        self.ids = []
        if path.suffix == ".py":
            for token in tokenize.generate_tokens(io.StringIO(text).readline):
                if token.type == tokenize.COMMENT:
                    self.ids += [(token.start[0], found) for found in ids_in(token.string)]
            self.cases = {f"{checker} {rule}": (1, text.count("\n") + 1)
                          for checker, rule in RULE_FIXTURE.findall(text)}
        elif path.suffix in (".c", ".h"):
            self.read_c(Source(root, path))

    def read_c(self, source):
        for first, _, comment in source.comments:
            for offset, line in enumerate(comment.splitlines()):
                self.ids += [(first + offset, found) for found in ids_in(line)]
        begin = 1
        for match in CASE.finditer(source.code):
            end = source.code.find("\n", match.end()) if match.group(3) else source.code.find("\n}", match.end())
            last = source.line(end + 1 if end >= 0 else len(source.code))
            self.cases[next(filter(None, match.groups()))] = (begin, last)
            begin = last + 1

    def bears(self, case, fault):
        first, last = self.cases[case] if case else (1, 1 << 30)
        return any(found == fault and first <= line <= last for line, found in self.ids)


def check_cover(report, line, fault, cover, tests):
    named = COVER.findall(cover)
    if not named and not WORDS.search(cover):
        report.add(TABLE, line, "row", f"{fault}: neither a test nor why there is none")
    for file, case in named:
        case = case.strip()
        if file not in tests or (case and case not in tests[file].cases):
            report.add(TABLE, line, "unknown-test", f"{fault}: there is no {file}{': ' + case if case else ''}")
        elif not case and tests[file].cases:
            report.add(TABLE, line, "row", f"{fault}: {file} has cases: which of them?")
        elif not tests[file].bears(case, fault):
            report.add(TABLE, line, "not-borne", f"{fault}: no comment of {file}: {case} bears it")


def check(parsed, report):
    root = parsed.root
    tests = {}
    for path in sorted((root / "tests").rglob("*")) if (root / "tests").is_dir() else []:
        if path.suffix in (".c", ".h", ".py") and path.is_file():
            tests[path.relative_to(root / "tests").as_posix()] = Tests(root, path)
    listed = {}
    table = Path(root / TABLE)
    for line, text in enumerate(table.read_text(encoding="utf-8").splitlines() if table.is_file() else [], 1):
        match = ROW.match(text)
        if not match:
            if re.match(r"^\|\s*[A-Z]\d", text):
                report.add(TABLE, line, "row", "no row of id, fault, what is right, and test")
            continue
        fault, cells = match.group(1), match.group(2).split("|")
        if fault in listed or len(cells) != 3 or not all(cell.strip() for cell in cells):
            report.add(TABLE, line, "row", f"{fault}: once, and with four cells")
            continue
        listed[fault] = line
        check_cover(report, line, fault, cells[2], tests)
    for name, test in tests.items():
        for line, fault in test.ids:
            if fault not in listed:
                report.add(f"tests/{name}", line, "unlisted", f"{fault} is not in {TABLE}")


if __name__ == "__main__":
    run(__doc__, RULES, check)
