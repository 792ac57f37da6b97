# SPDX-License-Identifier: MIT
"""Whether a command printed what its document shows."""
import re


def without_numbers(line):
    """What stays of a line where numbers were measured: the words."""
    line = re.sub(r"\d[\d.,]*(e[-+]?\d+)?( (ns|us|ms|s|B|KiB|MiB|GiB)\b)?", "N", line)
    return re.sub(r"\s+", " ", re.sub("[*~]", "", line)).strip()


def find(part, lines, begin):
    """Where `part` begins in `lines`, from `begin` on; -1: nowhere."""
    for at in range(begin, len(lines) - len(part) + 1):
        if lines[at:at + len(part)] == part:
            return at
    return -1


def difference(shown, printed, mode):
    """"" if the lines printed are those shown, else what is wrong. A line "..." shown stands for any lines."""
    if mode == "none" or not shown:
        return ""
    clean = without_numbers if mode == "numbers" else str.rstrip
    lines = [clean(line) for line in printed]
    parts = [[]]
    for line in shown:
        if line.strip() == "...":
            parts.append([])
        else:
            parts[-1].append(clean(line))
    for edge in (parts[-1], lines):
        while edge and not edge[-1]:
            edge.pop()
    at = 0
    for number, part in enumerate(parts):
        found = find(part, lines, at)
        if found < 0 or (number == 0 and found > 0):
            return "not printed:\n" + "\n".join(missing(part, lines[at:]))
        at = found + len(part)
    if parts[-1] and at != len(lines):
        if lines[-len(parts[-1]):] == parts[-1]:
            return ""
        return "printed, and not shown:\n" + "\n".join(lines[at:])
    return ""


def missing(part, lines):
    """The lines of a part that are nowhere; if all are somewhere, the part."""
    return [line for line in part if line not in lines] or part
