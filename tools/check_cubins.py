#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the machine code of the kernels in host objects: what ptxas was silent about.

usage: check_cubins.py [--targets SM,...] [--expect REGEX:LOADS:STORES]... [--list] OBJECT...
exit 0 (as expected), 1 (findings, one a line), 2 (an object cannot be read)

- No kernel touches local memory.
- A kernel whose mangled name REGEX matches has at least LOADS 16-byte loads from global memory and
  STORES 16-byte stores to it, for every target. (The first REGEX that matches counts; each must
  match some kernel.)
- All targets, and with --targets exactly these (75, 80, ...), have the same kernels.

No disassembler is needed: from Volta to Blackwell an instruction takes 16 bytes, with the opcode in
bits 0 to 11 and the width of an access in bits 73 to 75. The device code must not be compressed
(nvcc --no-compress).
"""
import argparse
import collections
import re
import struct
import sys

# By opcode. Accesses of global memory have two, without and with a uniform register. (Generic ones,
# which find out at run time what they access, count as none.)
LOAD, STORE, LOCAL = "load", "store", "local"
ACCESSES = {0x381: LOAD, 0x981: LOAD, 0x386: STORE, 0x986: STORE, 0x983: LOCAL, 0x387: LOCAL}
WIDE = 6  # of 8, s8, 16, s16, 32, 64, 128 bits
FATBIN_MAGIC = 0xBA55ED50
ELF_ENTRY, COMPRESSED = 2, 0xA000  # kind of an entry, flags


class Unreadable(Exception):
    pass


def elf_sections(data):
    """(name, bytes) of a 64-bit little-endian ELF file."""
    if data[:6] != b"\x7fELF\x02\x01":
        raise Unreadable("no 64-bit ELF file")
    (offset,) = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", data, offset + i * size) for i in range(count)]
    if count == 0:  # more than fit: the first header's size says how many
        count = struct.unpack_from("<Q", data, offset + 0x20)[0]
        headers = [struct.unpack_from("<IIQQQQ", data, offset + i * size) for i in range(count)]
    if names == 0xFFFF:
        names = struct.unpack_from("<I", data, offset + 0x28)[0]
    strings = headers[names][4]
    for name, kind, _, _, at, length in headers:
        end = data.index(b"\0", strings + name)
        yield data[strings + name:end].decode(), b"" if kind == 8 else data[at:at + length]


def cubins(fatbins):
    """(target, ELF file) of the entries of a section .nv_fatbin, which is fat binaries in a row."""
    at = 0
    while at + 16 <= len(fatbins):
        magic, _, header, size = struct.unpack_from("<IHHQ", fatbins, at)
        if magic != FATBIN_MAGIC:  # padding
            at += 8
            continue
        entry, end = at + header, at + header + size
        while entry < end:
            kind, _, entry_header, entry_size = struct.unpack_from("<HHIQ", fatbins, entry)
            (target,) = struct.unpack_from("<I", fatbins, entry + 28)
            (flags,) = struct.unpack_from("<Q", fatbins, entry + 40)
            body = fatbins[entry + entry_header:entry + entry_header + entry_size]
            if kind == ELF_ENTRY:
                if flags & COMPRESSED or body[:4] != b"\x7fELF":
                    raise Unreadable(f"the code for sm_{target} is compressed")
                yield target, body
            entry += entry_header + entry_size
        at = end


def count_accesses(code):
    counts = collections.Counter()
    for low, high in struct.iter_unpack("<QQ", code):
        access = ACCESSES.get(low & 0xFFF)
        if access:
            counts[access, high >> 9 & 7] += 1
    return counts


def kernels(path):
    """(target, name, counts) of every kernel in a host object."""
    with open(path, "rb") as file:
        sections = list(elf_sections(file.read()))
    for section, content in sections:
        if section != ".nv_fatbin":
            continue
        for target, cubin in cubins(content):
            for name, code in elf_sections(cubin):
                if name.startswith(".text."):
                    yield target, name[len(".text."):], count_accesses(code)


def findings(found, targets, expectations):
    """What is wrong with found[target][kernel] = counts."""
    if not found:
        yield "no kernels at all"
        return
    if targets and set(found) != targets:
        yield f"targets are {sorted(found)}, not {sorted(targets)}"
    every = set().union(*found.values())
    for pattern, _, _ in expectations:
        if not any(pattern.search(name) for name in every):
            yield f"no kernel matches {pattern.pattern}"
    for target, of_target in sorted(found.items()):
        for name in sorted(every - set(of_target)):
            yield f"sm_{target}: {name}: missing"
        for name, counts in sorted(of_target.items()):
            local = sum(n for (access, _), n in counts.items() if access == LOCAL)
            if local:
                yield f"sm_{target}: {name}: {local} accesses of local memory"
            for pattern, loads, stores in expectations:
                if not pattern.search(name):
                    continue
                if counts[LOAD, WIDE] < loads:
                    yield f"sm_{target}: {name}: {counts[LOAD, WIDE]} wide loads, expected {loads}"
                if counts[STORE, WIDE] < stores:
                    yield f"sm_{target}: {name}: {counts[STORE, WIDE]} wide stores, expected {stores}"
                break


def expectation(text):
    pattern, loads, stores = text.rsplit(":", 2)
    return re.compile(pattern), int(loads), int(stores)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--targets", type=lambda text: {int(part) for part in text.split(",")})
    parser.add_argument("--expect", type=expectation, action="append", default=[])
    parser.add_argument("--list", action="store_true", help="print the accesses of every kernel")
    parser.add_argument("objects", nargs="+")
    arguments = parser.parse_args()

    found = collections.defaultdict(dict)
    for path in arguments.objects:
        try:
            for target, name, counts in kernels(path):
                found[target][name] = counts
        except (OSError, Unreadable, struct.error, ValueError, IndexError) as error:
            print(f"check_cubins: {path}: {error}", file=sys.stderr)
            return 2
    if arguments.list:
        for target, of_target in sorted(found.items()):
            for name, counts in sorted(of_target.items()):
                accesses = ", ".join(f"{n} {access} (width {width})"
                                     for (access, width), n in sorted(counts.items()))
                print(f"sm_{target}: {name}: {accesses}")
    wrong = list(findings(found, arguments.targets, arguments.expect))
    print("\n".join(wrong) if wrong else
          f"{sum(map(len, found.values()))} kernels for {len(found)} targets are as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
