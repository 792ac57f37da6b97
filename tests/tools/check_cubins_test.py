#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tools/check_cubins.py finds what is planted in objects made here, and passes good ones."""
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

CHECKER = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check_cubins.py"
LOAD, LOAD_UNIFORM, STORE, LOAD_LOCAL, STORE_LOCAL, OTHER = 0x381, 0x981, 0x986, 0x983, 0x387, 0x210
WIDE, WORD = 6, 4


def instruction(opcode, width=0):
    return struct.pack("<QQ", opcode | 0x5 << 12, width << 9)


def elf(sections):
    """An ELF file with these (name, bytes)."""
    sections = [("", b""), *sections]
    names = b"".join(name.encode() + b"\0" for name, _ in sections) + b".shstrtab\0"
    body, headers, name_at = b"", [], 0
    for name, content in [*sections, (".shstrtab", names)]:
        headers.append(struct.pack("<IIQQQQIIQQ", name_at, 1, 0, 0, 64 + len(body), len(content), 0, 0, 1, 0))
        name_at += len(name) + 1
        body += content
    count = len(headers)
    return (b"\x7fELF\x02\x01\x01".ljust(16, b"\0") +
            struct.pack("<HHIQQQIHHHHHH", 1, 190, 1, 0, 0, 64 + len(body), 0, 64, 0, 0, 64, count, count - 1) +
            body + b"".join(headers))


def fatbin(entries, flags=0, kind=2):
    content = b""
    for target, cubin in entries:
        cubin += b"\0" * (-len(cubin) % 8)
        content += struct.pack("<HHIQIIHHIQQ", kind, 1, 64, len(cubin), 0, 0, 0, 0, target, 0, flags).ljust(64, b"\0")
        content += cubin
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(content)) + content


def cubin(**kernels):
    return elf([(".text." + name, code) for name, code in kernels.items()] + [(".nv.info", b"abcd")])


GOOD = instruction(LOAD, WIDE) + instruction(OTHER) + instruction(LOAD_UNIFORM, WIDE) + instruction(STORE, WIDE)


class CheckCubins(unittest.TestCase):
    def check(self, *entries, arguments=(), **marks):
        section = fatbin(entries, **marks) + b"\0" * 8 + fatbin([])
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "object.o"
            path.write_bytes(elf([(".text", b"host"), (".nv_fatbin", section)]))
            result = subprocess.run([sys.executable, CHECKER, *arguments, path], capture_output=True,
                                    text=True, check=False)
        return result.returncode, result.stdout + result.stderr

    def assert_found(self, text, *entries, arguments=()):
        code, output = self.check(*entries, arguments=arguments)
        self.assertEqual(code, 1, output)
        self.assertIn(text, output)

    def test_passes_what_is_as_expected(self):
        code, output = self.check((75, cubin(fold=GOOD)), (90, cubin(fold=GOOD)),
                                  arguments=["--targets", "75,90", "--expect", "^fold$:2:1"])
        self.assertEqual(code, 0, output)
        self.assertIn("2 kernels for 2 targets", output)

    def test_finds_too_few_wide_accesses(self):
        narrow = instruction(LOAD, WORD) + instruction(LOAD, WIDE) + instruction(STORE, WORD)
        self.assert_found("1 wide loads, expected 2", (90, cubin(fold=narrow)), arguments=["--expect", "fold:2:0"])
        self.assert_found("0 wide stores, expected 1", (90, cubin(fold=narrow)), arguments=["--expect", "fold:1:1"])

    def test_finds_them_in_one_target_of_several(self):
        self.assert_found("sm_90: fold: 0 wide loads", (75, cubin(fold=GOOD)), (90, cubin(fold=instruction(OTHER))),
                          arguments=["--expect", "fold:1:0"])

    def test_takes_the_first_expectation_that_matches(self):
        arguments = ["--expect", "fold_few:1:1", "--expect", "fold:9:9"]
        self.assert_found("fold_many: 2 wide loads, expected 9", (90, cubin(fold_few=GOOD, fold_many=GOOD)),
                          arguments=arguments)
        self.assertNotIn("fold_few", self.check((90, cubin(fold_few=GOOD, fold_many=GOOD)), arguments=arguments)[1])

    def test_finds_local_memory(self):
        for opcode in (LOAD_LOCAL, STORE_LOCAL):
            self.assert_found("1 accesses of local memory", (90, cubin(fold=GOOD + instruction(opcode, WORD))))

    def test_finds_missing_kernels_and_targets(self):
        self.assert_found("sm_75: copy: missing", (75, cubin(fold=GOOD)), (90, cubin(fold=GOOD, copy=GOOD)))
        self.assert_found("targets are [75], not [75, 90]", (75, cubin(fold=GOOD)), arguments=["--targets", "75,90"])
        self.assert_found("no kernel matches spin", (75, cubin(fold=GOOD)), arguments=["--expect", "spin:0:0"])
        self.assert_found("no kernels at all")

    def test_skips_intermediate_code_and_refuses_compressed(self):
        code, output = self.check((90, b"\n//ptx\n"), kind=1)
        self.assertEqual((code, output.strip()), (1, "no kernels at all"))
        code, output = self.check((90, cubin(fold=GOOD)), flags=0x2000)
        self.assertEqual(code, 2, output)
        self.assertIn("compressed", output)

    def test_refuses_what_is_no_object(self):
        result = subprocess.run([sys.executable, CHECKER, __file__], capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 2, result.stdout)
        self.assertIn("no 64-bit ELF file", result.stderr)


if __name__ == "__main__":
    unittest.main()
