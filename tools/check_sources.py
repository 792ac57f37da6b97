#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks what the compiler cannot: who includes whom, and a few rules of the house.

usage: check_sources.py [ROOT]      exit 0 (clean), 1 (findings, one a line: file:line: rule) or 2 (usage)

- Include arrows: base <- topology <- collectives <- {trainer, bench} <- tools; examples see what
  users see, tests see everything.
- Own headers are included as "ringside/<folder>/<file>", exist, and have #pragma once.
- The environment is read in base/options.cpp only; the library neither aborts nor exits.
- Every source starts with its licence line; what has no header beside it then says what it is for.
- No path of the author's machine.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

LIBRARY = ["base", "topology", "collectives"]
C_HEADERS = ["ringside.h", "ringside_algorithm.h"]  # seen by users, and by what implements them
MAY_INCLUDE = {
    "base": {"base"},
    "topology": {"base", "topology"},
    "collectives": {*LIBRARY, *C_HEADERS},
    "trainer": {*LIBRARY, "trainer"},
    "bench": {*LIBRARY, "bench"},
    "tools": {*LIBRARY, "trainer", "bench", "tools", "ringside.hpp", *C_HEADERS},
    "examples": {*LIBRARY, "examples", "ringside.hpp", *C_HEADERS},
    "tests": {*LIBRARY, "trainer", "bench", "tools", "examples", "tests", "ringside.hpp", *C_HEADERS},
    "ringside.hpp": set(LIBRARY),
    "ringside.h": {"ringside_algorithm.h"},
}
CODE = {".hpp", ".cpp", ".h", ".c", ".cu", ".cuh", ".inl"}
HASH_COMMENTS = {".py", ".sh", ".cmake"}
TEXT = CODE | HASH_COMMENTS | {".txt", ".md", ".json", ".yml", ".in", ""}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
# Handing `environ` to a child is no reading.
ENVIRONMENT = re.compile(r"\b(?:secure_)?getenv\s*\(")
# The double of the CUDA runtime is steered where the real one would not be: from outside.
READS_ENVIRONMENT = {"base/options.cpp", "tests/fakecuda/configuration.cpp"}
# Only qualified calls: a communicator may well have a member abort().
ENDS_PROCESS = re.compile(r"(?:\bstd\s*::|(?<![\w>])::)\s*(?:abort|exit|_exit|_Exit|quick_exit|terminate)\s*\(")
MACHINE_PATH = re.compile(r"(?<![\w.}/])/(?:work|home|root|Users)/\w")


def blank(match):
    """The same number of lines, without the text."""
    return "\n" * match.group().count("\n") or " "


def without_comments_and_strings(text):
    token = r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''
    return re.sub(token, blank, text, flags=re.DOTALL)


def tracked_files(root):
    """What git knows or would add; every file where there is no git or no repository."""
    git = shutil.which("git")
    listed = git and subprocess.run([git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                                    cwd=root, capture_output=True, check=False)
    if listed and listed.returncode == 0:
        names = [os.fsdecode(name) for name in listed.stdout.split(b"\0") if name]
    else:
        names = [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()]
    return sorted(name for name in names if (root / name).is_file())


def generated(header):
    """The build makes it: the folder's CMakeLists.txt names it."""
    recipe = header.with_name("CMakeLists.txt")
    return recipe.is_file() and header.name in recipe.read_text(encoding="utf-8")


def check_includes(root, name, lines):
    top = name.split("/")[0]
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quoted, header = match.group(1) == '"', match.group(2)
        if not header.startswith("ringside/"):
            # Tests may share helpers that stand beside them.
            if quoted and not (top == "tests" and "/" not in header and (root / name).with_name(header).is_file()):
                yield number, f'"{header}": own headers are included as "ringside/<folder>/<file>", others as <...>'
            continue
        target = header.removeprefix("ringside/")
        if not (root / target).is_file() and not generated(root / target):
            yield number, f"{header} does not exist"
        elif top in MAY_INCLUDE and target.split("/")[0] not in MAY_INCLUDE[top]:
            yield number, f"{top} must not include {header}"


def check_code(root, name, text):
    lines = text.split("\n")
    top, suffix = name.split("/")[0], pathlib.PurePath(name).suffix
    yield from check_includes(root, name, lines)
    if suffix in {".hpp", ".h", ".cuh"} and "#pragma once" not in lines:
        yield 1, "no #pragma once"
    second = next((line for line in lines[1:] if line.strip()), "")
    # A source beside its header has been introduced there.
    introduced = suffix != ".hpp" and (root / name).with_suffix(".hpp").is_file()
    if not introduced and not second.startswith(("///", "/*", "//")):
        yield 2, "the file does not start by saying what it is for"
    for number, line in enumerate(without_comments_and_strings(text).split("\n"), 1):
        if name not in READS_ENVIRONMENT and ENVIRONMENT.search(line):
            yield number, "only base/options.cpp reads the environment"
        if top in LIBRARY and ENDS_PROCESS.search(line):
            yield number, "the library must not end the process"


def check_file(root, name):
    path = root / name
    suffix = path.suffix
    if suffix not in TEXT or "/data/" in name or "/corpus/" in name:
        return
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        yield 1, "not UTF-8"
        return
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if MACHINE_PATH.search(line):
            yield number, "names a path of somebody's machine"
    if suffix in CODE or suffix in HASH_COMMENTS or path.name == "CMakeLists.txt":
        first = next((line for line in lines if not line.startswith("#!")), "")
        comment = "//" if suffix in CODE else "#"
        if first != f"{comment} SPDX-License-Identifier: MIT":
            yield 1, f'the first line is not "{comment} SPDX-License-Identifier: MIT"'
    if suffix in CODE:
        yield from check_code(root, name, text)


def main(arguments):
    if arguments[1:] in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    root = pathlib.Path(arguments[1] if len(arguments) > 1 else pathlib.Path(__file__).parent.parent)
    if len(arguments) > 2 or not root.is_dir():
        print(f"check_sources.py: no folder {' '.join(arguments[1:])} (see --help)", file=sys.stderr)
        return 2
    files = tracked_files(root)
    findings = [f"{name}:{number}: {rule}" for name in files for number, rule in check_file(root, name)]
    print("\n".join(findings) if findings else f"{len(files)} files, nothing found")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
