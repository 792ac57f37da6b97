#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What all scripts have in common: --help says what they take, and a word that makes no sense is one line and exit code 2."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCED = {"tools/lib.sh"}  # by the others
SCRIPTS = sorted(str(path.relative_to(ROOT)) for folder in ("tools", "bench", "bench/peers") for ending in ("sh", "py")
                 for path in (ROOT / folder).glob(f"*.{ending}") if str(path.relative_to(ROOT)) not in SOURCED)
# What is first refused: a program that is not there, or a folder, or an option.
NONSENSE = {"bench/compare_mpi.sh": ["absent/ringside"], "bench/compare_slow_link.sh": ["absent/ringside"],
            "bench/compare_training.py": ["absent/ringside"], "bench/scaling_study.py": ["absent/ringside", "records"],
            "bench/compare_host.sh": ["--program", "absent/ringside"], "bench/compare_host.py": ["absent"],
            "tools/check_sources.py": ["absent"]}


def run(script, *words):
    command = ["bash" if script.endswith("sh") else sys.executable, str(ROOT / script), *words]
    with tempfile.TemporaryDirectory() as folder:  # nothing is left behind in the tree
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=60,
                              env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})


class Scripts(unittest.TestCase):
    def test_all_are_found(self):
        self.assertGreater(len(SCRIPTS), 12)
        self.assertLessEqual(set(NONSENSE), set(SCRIPTS))

    def test_help_is_printed_and_nothing_else_is_done(self):
        for script in SCRIPTS:
            with self.subTest(script):
                done = run(script, "--help")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn("usage: ", done.stdout)

    def test_what_makes_no_sense_is_refused_in_a_line(self):
        for script in SCRIPTS:
            with self.subTest(script):
                done = run(script, *NONSENSE.get(script, ["--no-such-option"]))
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertNotIn("Traceback", done.stderr)
                if script in NONSENSE:
                    self.assertRegex(done.stderr, r"absent.*\n\Z")
                    self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
