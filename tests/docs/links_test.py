#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every link of the documents to a file or a heading leads somewhere."""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def prose(text):
    """Without code blocks, whose brackets are no links."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    return "\n".join(line for line in text.split("\n") if not line.startswith("    "))


def anchors(path):
    """The names that readers' software gives to the headings."""
    seen = collections.Counter()
    names = set()
    for heading in re.findall(r"^#+ (.*)$", prose(path.read_text(encoding="utf-8")), re.M):
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        names.add(f"{name}-{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return names


def dead_links(path):
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(path.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = path.parent / name if name else path
        if not file.exists():
            yield f"{path.relative_to(ROOT)}: no file {target}"
        elif anchor and anchor not in anchors(file):
            yield f"{path.relative_to(ROOT)}: no heading {target}"


def main():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").glob("*.md"), *(ROOT / "bench").rglob("*.md")]
    dead = [each for page in sorted(pages) for each in dead_links(page)]
    print("\n".join(dead) or f"{len(pages)} documents: all links lead somewhere")
    return 1 if dead or len(pages) < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
