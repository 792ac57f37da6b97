# SPDX-License-Identifier: MIT
"""The commands and files in a document, as its readers see them, and what readers do not see: how to run them.

A block is fenced by ``` or indented by four blanks. It holds commands if its first line is one: it begins with
"$ ", or with one of PROGRAMS. After "$ " lines, other lines are the output. In a block without "$ " every line is a
command. A line that ends in a backslash goes on in the next.

Comments before a block, which no reader sees:
    <!-- run: skip REASON -->        not run
    <!-- run: full -->               only in the full run
    <!-- run: exit N -->             the exit code of its commands (default 0)
    <!-- run: seconds N -->          their time limit (default 300; ten times that in the full run)
    <!-- run: gpu -->                on GPUs where there are some, else on the double of the CUDA runtime
    <!-- run: output numbers -->     the output shown is compared without its numbers; `none`: not at all
    <!-- run: as it is -->           never shortened
    <!-- file: NAME -->              the block is a file, which is there when commands run
Several are joined by commas. In the output a line "..." stands for any lines.

usage: documents.py DOCUMENT FOLDER     writes the document's files there
"""
import dataclasses
import pathlib
import re
import sys

PROGRAMS = ("ringside ", "tools/", "bench/", "build/", "mpirun ", "cc ", "cmake ", "ninja ", "ctest ", "nvidia-smi ", "python3 ", "export ",
            "twin_accuracy ", "RINGSIDE_", "CUDA_VISIBLE_DEVICES=", "NCCL_GRAPH_FILE=")


class Refused(Exception):
    """The document has a line or a comment that is not understood."""


@dataclasses.dataclass
class How:
    """How the commands of a block are run."""
    skip: str = ""
    full: bool = False
    exit: int = 0
    seconds: int = 300
    gpu: bool = False
    output: str = "exact"
    as_it_is: bool = False


@dataclasses.dataclass
class Command:
    document: str
    line: int
    text: str
    how: How
    output: list[str]


@dataclasses.dataclass
class Document:
    name: str
    commands: list[Command]
    files: dict[str, str]


def parse_how(text, where):
    how = How()
    for part in text.split(","):
        word, _, rest = part.strip().partition(" ")
        if word == "skip" and rest:  # the reason may have commas
            return dataclasses.replace(how, skip=text[text.index("skip") + 5:].strip())
        if word in ("exit", "seconds") and rest.isdigit():
            setattr(how, word, int(rest))
        elif word in ("full", "gpu") and not rest:
            setattr(how, word, True)
        elif word == "output" and rest in ("numbers", "none"):
            how.output = rest
        elif part.strip() == "as it is":
            how.as_it_is = True
        else:
            raise Refused(f"{where}: '{part.strip()}' is no way to run a command")
    return how


def blocks(text):
    """(number of the first line, lines, the comment before) of every block."""
    lines = text.split("\n")
    comment, at = "", 0
    while at < len(lines):
        line = lines[at]
        fence = re.match(r"(```+)", line)
        first = at
        if fence:
            at += 1
            while at < len(lines) and not lines[at].startswith(fence[1]):
                at += 1
            yield first + 2, lines[first + 1:at], comment
            comment = ""
        elif line.startswith("    ") and (at == 0 or not lines[at - 1].strip()):
            while at < len(lines) and (lines[at].startswith("    ") or not lines[at].strip()):
                at += 1
            body = [each[4:] for each in lines[first:at]]
            while not body[-1].strip():
                body.pop()
            yield first + 1, body, comment
            comment = ""
            at -= 1
        elif line.strip():
            found = re.fullmatch(r"<!-- ((?:run|file): .*) -->", line.strip())
            comment = found[1] if found else ""
        at += 1


def is_command(line):
    return line.startswith("$ ") or line.startswith(PROGRAMS)


def commands_of(first, lines, how, where):
    prompted = any(line.startswith("$ ") for line in lines)
    found = []
    at = 0
    while at < len(lines):
        line, begin = lines[at], at
        while lines[at].endswith("\\") and at + 1 < len(lines) and (not prompted or line.startswith("$ ")):
            at += 1
            line = line[:-1] + lines[at].strip()
        at += 1
        if prompted and not line.startswith("$ "):
            found[-1].output.append(line)
        elif prompted or is_command(line):
            found.append(Command(where, first + begin, line.removeprefix("$ "), how, []))
        elif line.strip() and not line.startswith("#"):
            raise Refused(f"{where}:{first + begin}: '{line}' is among commands and not known as one")
    return found


def read(path, name=""):
    name = name or path.name
    document = Document(name, [], {})
    for first, lines, comment in blocks(path.read_text(encoding="utf-8")):
        kind, _, rest = comment.partition(": ")
        if kind == "file":
            document.files[rest] = "\n".join(lines) + "\n"
        elif lines and is_command(lines[0]):
            how = parse_how(rest, f"{name}:{first}") if kind == "run" else How()
            document.commands += commands_of(first, lines, how, name)
        elif kind == "run":
            raise Refused(f"{name}:{first}: no command follows '{comment}'")
    return document


if __name__ == "__main__":
    for file_name, content in read(pathlib.Path(sys.argv[1])).files.items():
        place = pathlib.Path(sys.argv[2]) / file_name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content, encoding="utf-8")
