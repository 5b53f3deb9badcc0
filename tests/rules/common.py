# SPDX-License-Identifier: MIT
"""What the rule checkers share: reading C, listing the tree, reporting."""
import argparse
import bisect
import os
import re
import subprocess
import sys
from pathlib import Path

# A comment, a string or a character constant: whichever starts first.
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+(?:<([^>\n]+)>|"([^"\n]+)"|(\w+))', re.MULTILINE)
NOT_OURS = {".git", "build", "out", "subprojects", "__pycache__"}


class Source:
    """One C file: `code` is the text with comments and strings blanked, line by line where it was."""

    def __init__(self, root, path):
        self.path = path
        self.name = path.relative_to(root).as_posix()
        self.text = path.read_text(encoding="utf-8")
        self.lines = self.text.splitlines()
        self.starts = [0] + [match.end() for match in re.finditer("\n", self.text)]
        self.comments = []  # (first line, last line, text)

        def blank(match):
            token = match.group(0)
            if token.startswith("/"):
                self.comments.append((self.line(match.start()), self.line(match.end() - 1), token))
                return re.sub(r"[^\n]", " ", token)
            return token[0] + re.sub(r"[^\n]", " ", token[1:-1]) + token[-1]

        self.code = TOKEN.sub(blank, self.text)
        # The same with strings kept: for #include.
        self.uncommented = TOKEN.sub(
            lambda m: re.sub(r"[^\n]", " ", m.group(0)) if m.group(0).startswith("/") else m.group(0), self.text)

    def line(self, offset):
        return bisect.bisect_right(self.starts, offset)

    def includes(self):
        """(line, kind, name): kind is `<`, `"`, or `macro`."""
        for match in INCLUDE.finditer(self.uncommented):
            kind = "<" if match.group(1) else '"' if match.group(2) else "macro"
            yield self.line(match.start()), kind, match.group(1) or match.group(2) or match.group(3)

    def find(self, pattern):
        """(line, match) of every place in the code."""
        for match in re.finditer(pattern, self.code, re.MULTILINE):
            yield self.line(match.start()), match


class Report:
    """Collects complaints; every rule that can complain is declared, so that the self-test can ask for each."""

    def __init__(self, rules):
        self.rules = rules
        self.found = []

    def add(self, where, line, rule, reason):
        assert rule in self.rules, rule
        self.found.append((where, line, rule, reason))

    def finish(self):
        for where, line, rule, reason in sorted(self.found):
            print(f"{where}:{line}: {rule}: {reason}")
        return 1 if self.found else 0


def c_sources(root, *folders):
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".c", ".h", ".hpp") and path.is_file():
                yield Source(root, path)


def tree(root):
    """The project's files: what git knows or would add; without git, what is no build output."""
    try:
        listed = subprocess.run(["git", "-C", str(root), "ls-files", "-z", "-c", "-o", "--exclude-standard"],
                                check=True, capture_output=True).stdout.decode().split("\0")
        top = subprocess.run(["git", "-C", str(root), "rev-parse", "--show-toplevel"],
                             check=True, capture_output=True)
        if Path(top.stdout.decode().strip()).resolve() == root.resolve():
            return sorted({root / name for name in listed if name and (root / name).is_file()})
    except (OSError, subprocess.CalledProcessError):
        pass
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders
                      if name not in NOT_OURS and not (Path(folder) == root and name.startswith("build"))]
        found += [Path(folder) / name for name in names]
    return sorted(found)


def arguments(doc, add=None):
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2], help="the project's root")
    parser.add_argument("--list-rules", action="store_true", help="print the names of the rules")
    if add:
        add(parser)
    parsed = parser.parse_args()
    parsed.root = parsed.root.resolve()
    return parsed


def run(doc, rules, check, add=None):
    parsed = arguments(doc, add)
    if parsed.list_rules:
        print("\n".join(rules))
        sys.exit(0)
    report = Report(rules)
    check(parsed, report)
    sys.exit(report.finish())


def tap(results):
    """Prints (name, what was wrong or None or "skip: why") as TAP; returns the exit status."""
    print("TAP version 13")
    print(f"1..{len(results)}")
    failed = False
    for number, (name, wrong) in enumerate(results, 1):
        if wrong and wrong.startswith("skip: "):
            print(f"ok {number} - {name} # SKIP {wrong[6:]}")
            continue
        print(f"{'not ok' if wrong else 'ok'} {number} - {name}")
        if wrong:
            failed = True
            print("  ---")
            print("\n".join(f"  {line}" for line in wrong.splitlines()))
            print("  ...")
    return 1 if failed else 0
