#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tools/gpu_check.py with programs of ours that are stand-ins: what it makes of what they say."""
import json
import os
import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "gpu_check.py"
SHELL = SCRIPT.with_suffix(".sh")
TESTS = ["cuda_contract", "device_fold_test", "cuda_conformance_test", "cuda_world_test"]
PASSES = "echo 'cuda conformance: 12 calls'; echo '[  PASSED  ] 7 tests.'"


def program(path, body):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + body + "\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


class GpuCheck(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        root = pathlib.Path(self.folder.name)
        self.build, self.output, self.bin = root / "build", root / "results", root / "path"
        program(self.bin / "nvidia-smi", "echo 'Pretend GPU, 1.2, 100 MiB, 1 MHz, 2 MHz, 00:01.0'")
        for name in TESTS:
            program(self.build / "tests" / "bin" / name, PASSES)

    def tearDown(self):
        self.folder.cleanup()

    def check(self, *arguments, gpu=True):
        return self.run_here([sys.executable, str(SCRIPT), "--build", str(self.build), "--output", str(self.output),
                              *arguments], gpu)

    def shell(self, *arguments, gpu=True):
        """The script that people call. Its packages are never missing and its compilers never run."""
        for name in ("cmake", "ninja", "dpkg-query", "apt-get"):
            program(self.bin / name, f"touch {self.bin}/was_called; exit 3")
        return self.run_here([str(SHELL), *arguments], gpu)

    def run_here(self, command, gpu):
        environment = dict(os.environ, GPU_CHECK_COMMIT="abc", PATH=f"{self.bin}:{os.environ['PATH']}")
        if not gpu:
            program(self.bin / "nvidia-smi", "echo 'No devices were found' >&2; exit 6")
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment)

    def report(self):
        files = list(self.output.glob("*-gpu-pretend-gpu.json"))
        self.assertEqual(len(files), 1)
        return json.loads(files[0].read_text(encoding="utf-8"))

    def test_says_first_what_one_gpu_cannot_show(self):
        done = self.check("--steps", ",".join(["contract", "executor"]))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.startswith("One GPU: nothing here says anything of links"), done.stdout)
        self.assertIn("Pretend GPU", done.stdout)
        self.assertIn("7 passed, 0 failed", done.stdout)
        self.assertEqual([step["step"] for step in self.report()["steps"]], ["contract", "executor"])
        self.assertEqual(self.report()["steps"][1]["found"]["counts"], ["cuda conformance: 12 calls"])

    def test_a_failed_test_is_a_finding_and_is_named(self):
        program(self.build / "tests" / "bin" / "cuda_contract",
                "echo '[  FAILED  ] Streams.Run, listed'; echo '[  FAILED  ] 1 test, listed below:'; exit 1")
        done = self.check("--steps", "contract,world")
        self.assertEqual(done.returncode, 1)
        self.assertIn("FAILED Streams.Run", done.stdout)
        self.assertEqual(self.report()["steps"][1]["state"], "ok", "the steps after it still run")

    def test_a_step_that_hangs_is_cut_off_and_what_it_said_is_kept(self):
        program(self.build / "tests" / "bin" / "cuda_world_test", "echo '[  PASSED  ] 3 tests.'; exec sleep 50")
        done = self.check("--steps", "world", "--minutes", "0.1")
        self.assertEqual(done.returncode, 0, "time is no finding")
        self.assertEqual(self.report()["steps"][0]["state"], "time limit")
        self.assertEqual(self.report()["steps"][0]["found"]["passed"], 3)

    def test_rates_are_set_against_their_limits(self):
        rows = [{"what": "device_all_reduce", "spec": "ring", "ranks": 8, "bytes": 1024, "issue": issue,
                 "microseconds": time, "host_microseconds": time, "fraction_of_floor": 0.5}
                for issue, time in (("streams", 100.0), ("graph", 10.0))]
        rows.append(dict(rows[0], bytes=1 << 28, fraction_of_floor=0.75))  # long enough for a limit
        lines = "\n".join(f"echo '{json.dumps(row)}'" for row in rows)
        program(self.build / "bin" / "micro_device_all_reduce", "echo '# a table'\n" + lines)
        done = self.check("--steps", "all_reduce")
        self.assertIn("3 rows, 0.75 to 0.75 of the limit", done.stdout)
        self.assertIn("ring, 8 ranks, 1024 B: 10.0 x", done.stdout)

    def test_what_is_not_built_is_said(self):
        done = self.check("--steps", "fold_rate")
        self.assertEqual(done.returncode, 0)
        self.assertIn("not here", done.stdout)

    def test_the_commit_of_the_environment_wins(self):
        self.check("--steps", "contract")
        self.assertEqual(self.report()["facts"]["commit"], "abc")

    def expect_refusal(self, done, words):
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("tools/gpu_check.sh: "), done.stderr)
        self.assertIn(words, done.stderr)

    def test_wrong_usage_ends_with_2_and_one_line_before_anything_is_installed_or_built(self):
        for arguments, words in ((["--steps", "nonsense"], "'nonsense'"), (["--steps", ""], "no step is called ''"),
                                 (["--minutes", "0"], "--minutes"), (["--minutes", "-3"], "--minutes"),
                                 (["--minutes", "nan"], "--minutes"), (["--minutes", "soon"], "--minutes"),
                                 (["--frobnicate"], "--frobnicate"), (["--lis"], "--lis"), (["--build"], "--build"),
                                 (["--build", "/nonexistent"], "/nonexistent"),
                                 (["--build=/nonexistent"], "/nonexistent"),
                                 (["--output", "/dev/null/x"], "/dev/null/x")):
            with self.subTest(arguments):
                self.expect_refusal(self.shell(*arguments), words)
                self.assertFalse((self.bin / "was_called").exists())

    def test_without_a_gpu_nothing_is_installed_or_built(self):
        self.expect_refusal(self.shell(gpu=False), "no GPU")
        self.assertFalse((self.bin / "was_called").exists())
        self.expect_refusal(self.check(gpu=False), "no GPU")

    def test_the_list_needs_no_gpu_and_goes_with_other_arguments(self):
        for arguments in (["--list"], ["--list", "--minutes", "3"], ["--build", str(self.build), "--list"]):
            done = self.shell(*arguments, gpu=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("contract ", done.stdout)
        done = self.shell("--list", "--steps", "world,kernels", gpu=False)
        self.assertEqual([line.split()[0] for line in done.stdout.splitlines()], ["kernels", "world"])
        self.assertFalse((self.bin / "was_called").exists())

    def test_help_is_one_text_with_exit_codes_and_what_is_installed(self):
        done = self.shell("--help", gpu=False)
        self.assertEqual(done.returncode, 0)
        for words in ("Exit code 0", "installs the Debian packages", "--minutes"):
            self.assertIn(words, done.stdout)
        self.assertEqual(self.check("--help", gpu=False).stdout, done.stdout)


if __name__ == "__main__":
    unittest.main()
