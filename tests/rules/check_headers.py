#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The public headers: each compiles alone in C and C++ without a warning, every initialiser is usable in both, and
what they declare, what lfma.map exports, and what the library exports are the same. --part chooses:

  c     C11 and C17, every C compiler found          cxx   C++11 and C++17, every C++ compiler found
  api   declarations, lfma.map, versions, and with --lib the symbols of the built library

Exit status: 0; 1 with file:line: rule: reason; 77 if there is no compiler for the part."""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from common import Source, c_sources, run

RULES = ["alone", "initialiser", "unmapped", "undeclared", "unexported", "exported", "version"]
LANGUAGES = {"c": (["gcc", "clang"], "c", ["c11", "c17"]), "cxx": (["g++", "clang++"], "c++", ["c++11", "c++17"])}
FLAGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
SKIPPED = 77


def compile_text(root, compiler, language, standard, text):
    """What the compiler says; empty if it accepts the text."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "snippet"
        file.write_text(text, encoding="utf-8")
        done = subprocess.run([compiler, f"-std={standard}", *FLAGS, f"-I{root}/include", "-x", language, str(file)],
                              capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


def first_complaint(text):
    lines = [line for line in text.splitlines() if "error" in line]
    return (lines or text.splitlines() or ["no message"])[0]


def initialisers(source):
    """(line, C text that uses it) for every LFMA_*_INIT and LFMA_BUDGET_* that a header defines."""
    pattern = r"^#define (LFMA_\w+_INIT|LFMA_BUDGET_\w+)(\(\w+\))?(?=[ \t\\])"
    for line, match in source.find(pattern):
        name, takes = match.group(1), match.group(2)
        stem = "lfma_budget" if name.startswith("LFMA_BUDGET_") else name[:-len("_INIT")].lower()
        kinds = [stem + "_t", stem] if re.search(rf"\b{stem}_t\b", source.code) else [stem]
        uses = [f"{kinds[0]} a{{}} = {name}(10000);", f"{kinds[0]} a{{}} = {name}(n);"] if takes else \
            [f"{kinds[0]} a{{}} = {name};"]
        body = " ".join(use.replace("{}", str(number)) + f" (void)a{number};" for number, use in enumerate(uses))
        yield line, name, f"void use(uint64_t n);\nvoid use(uint64_t n) {{ (void)n; {body} }}\n"


def check_language(report, root, part):
    compilers, language, standards = LANGUAGES[part]
    compilers = [name for name in compilers if shutil.which(name)]
    if not compilers:
        print(f"no compiler for {language}: skipped")
        return False
    for source in c_sources(root, "include"):
        if source.path.suffix == ".hpp" and part == "c":
            continue
        include = source.name[len("include/"):]
        for compiler in compilers:
            for standard in standards:
                said = compile_text(root, compiler, language, standard,
                                    f"#include <{include}>\nextern int lfma_no_empty_unit;\n")
                if said:
                    report.add(source.name, 1, "alone", f"{compiler} -std={standard}: {first_complaint(said)}")
                    continue
                for line, name, use in initialisers(source):
                    said = compile_text(root, compiler, language, standard, f"#include <{include}>\n{use}")
                    if said:
                        report.add(source.name, line, "initialiser",
                                   f"{name}: {compiler} -std={standard}: {first_complaint(said)}")
    return True


def declared(root):
    """Name → (file, line) of every function that a public header marks LFMA_API."""
    found = {}
    for source in c_sources(root, "include"):
        for line, match in source.find(r"^[ \t]*LFMA_API\b([^;{}()]*?)\b(lfma_\w+)\s*\("):
            found[match.group(2)] = (source.name, line)
    return found


def mapped(root):
    found = {}
    text = re.sub(r"/\*.*?\*/|#[^\n]*", "", (root / "lfma" / "lfma.map").read_text(encoding="utf-8"))
    for number, line in enumerate(text.splitlines(), 1):
        for name in re.findall(r"\b(lfma_\w+)\s*;", line):
            found[name] = number
    return found


def exported(library):
    done = subprocess.run(["nm", "-D", "--defined-only", str(library)], check=True, capture_output=True, text=True)
    fields = [line.split() for line in done.stdout.splitlines()]
    return {field[-1].split("@")[0] for field in fields if len(field) >= 3 and field[-2] != "A"}


def check_versions(report, root):
    project = re.search(r"version:\s*'([^']+)'", (root / "meson.build").read_text(encoding="utf-8"))
    header = Source(root, root / "include" / "lfma" / "version.h")
    text = header.text
    parts = [re.search(rf"#define LFMA_VERSION_{part}\s+(\d+)", text) for part in ("MAJOR", "MINOR", "PATCH")]
    string = re.search(r'#define LFMA_VERSION_STRING\s+"([^"]+)"', text)
    numbers = ".".join(part.group(1) if part else "?" for part in parts)
    for what, value in (("LFMA_VERSION_STRING", string.group(1) if string else "?"), ("its three numbers", numbers)):
        if project is None or value != project.group(1):
            report.add(header.name, 1, "version",
                       f"{what}: {value}, but meson.build: {project.group(1) if project else '?'}")


def check_api(report, root, library):
    declarations, names = declared(root), mapped(root)
    for name in declarations.keys() - names.keys():
        report.add(*declarations[name], "unmapped", f"{name} is not in lfma/lfma.map")
    for name in names.keys() - declarations.keys():
        report.add("lfma/lfma.map", names[name], "undeclared", f"{name} is in no public header as LFMA_API")
    check_versions(report, root)
    if library:
        symbols = exported(library)
        for name in declarations.keys() - symbols:
            report.add(*declarations[name], "unexported", f"{library.name} does not export {name}")
        for name in sorted(symbols - declarations.keys()):
            report.add(library.name, 1, "exported", f"{name} is exported, but in no public header as LFMA_API")


def check(parsed, report):
    done = True
    for part in parsed.part or ["c", "cxx", "api"]:
        if part == "api":
            check_api(report, parsed.root, parsed.lib)
        else:
            done = check_language(report, parsed.root, part) and done
    if not done and parsed.part and not report.found:
        sys.exit(SKIPPED)


def add_arguments(parser):
    parser.add_argument("--part", action="append", choices=["c", "cxx", "api"], help="default: all")
    parser.add_argument("--lib", type=Path, help="the built shared library")


if __name__ == "__main__":
    run(__doc__, RULES, check, add_arguments)
