#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sizes, licence lines and tidiness of the tree. Exit status: 0, or 1 with file:line: rule: reason."""
import re

from common import Source, run, tree

RULES = ["file-length", "function-length", "line-length", "licence", "unfinished", "tab", "trailing-blank",
         "last-line", "path"]

FILE_LINES_MAX = 400      # in lfma/
FUNCTION_LINES_MAX = 70   # in lfma/
COLUMNS_MAX = 118
C_SUFFIXES = {".c", ".h", ".hpp", ".cpp"}
SOURCE_SUFFIXES = C_SUFFIXES | {".py", ".sh", ".gp"}
# Not ours to tidy: measured data and pictures.
DATA_SUFFIXES = {".csv", ".json", ".svg", ".png", ".txt", ".log", ".bin"}
# Spelt in two halves, for this file is checked too.
UNFINISHED = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "X" + "XX"]) + r")\b")
PRIVATE_PATH = re.compile(r"\.\./" + r"shared\b|(?<![\w.])/(?:home/\w|root/|Users/\w|work/)")
FUNCTION_OPENS = re.compile(r"^(?:\{|[A-Za-z_][^;=]*\)\s*\{)\s*$")


def is_source(path, text):
    return path.suffix in SOURCE_SUFFIXES or text.startswith("#!")


def check_functions(report, source):
    lines = source.code.splitlines()
    opened = None
    for number, line in enumerate(lines, 1):
        if opened is None and FUNCTION_OPENS.match(line):
            opened = number
            while opened > 1 and lines[opened - 2].strip() and not re.search(r"[;}]\s*$", lines[opened - 2]):
                opened -= 1
        elif opened is not None and line.startswith("}"):
            length = number - opened + 1
            if length > FUNCTION_LINES_MAX:
                report.add(source.name, opened, "function-length",
                           f"a function of {length} lines; at most {FUNCTION_LINES_MAX}")
            opened = None


def check_text(report, name, path, text):
    source = is_source(path, text)
    lines = text.splitlines()
    if source and not any("SPDX-License-Identifier: MIT" in line for line in lines[:5]):
        report.add(name, 1, "licence", "no SPDX-License-Identifier in the first lines")
    for number, line in enumerate(lines, 1):
        if source and len(line) > COLUMNS_MAX:
            report.add(name, number, "line-length", f"{len(line)} columns; at most {COLUMNS_MAX}")
        if "\t" in line:
            report.add(name, number, "tab", "a tab; indent with spaces")
        if line != line.rstrip():
            report.add(name, number, "trailing-blank", "blanks at the end of the line")
        match = UNFINISHED.search(line)
        if match:
            report.add(name, number, "unfinished", f"{match.group(0)}: finish it, or open an issue")
        match = PRIVATE_PATH.search(line)
        if match:
            report.add(name, number, "path", f"`{match.group(0)}`: a path of one machine")
    if text and not text.endswith("\n"):
        report.add(name, len(lines), "last-line", "no newline at the end of the file")


def check(parsed, report):
    for path in tree(parsed.root):
        name = path.relative_to(parsed.root).as_posix()
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        if path.suffix in DATA_SUFFIXES and not name.endswith("meson_options.txt"):
            for number, line in enumerate(text.splitlines(), 1):
                if PRIVATE_PATH.search(line):
                    report.add(name, number, "path", "a path of one machine")
            continue
        check_text(report, name, path, text)
        if name.startswith("lfma/") and path.suffix in C_SUFFIXES:
            lines = text.count("\n")
            if lines > FILE_LINES_MAX:
                report.add(name, lines, "file-length", f"{lines} lines; at most {FILE_LINES_MAX}")
            check_functions(report, Source(parsed.root, path))


if __name__ == "__main__":
    run(__doc__, RULES, check)
