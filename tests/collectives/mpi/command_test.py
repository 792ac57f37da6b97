#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The program under mpirun: what a process alone finds wrong ends the job, what makes no sense is refused,
and the report says what ran.

usage: command_test.py MPIRUN PROGRAM [FOLDER]
FOLDER: of the double of the CUDA runtime.
"""
import json
import os
import re
import subprocess
import sys
import unittest

MPIRUN, PROGRAM = sys.argv[1:3]
FAKE_GPUS = sys.argv[3] if len(sys.argv) > 3 else None
ONE_SIZE = ["-b", "64K", "-e", "64K", "--time", "5ms", "--rounds", "1", "--placement", "out"]


def job(*parts, variables=None):
    """Exit code, standard output, standard error; a part is (processes, arguments of the program)."""
    command = [MPIRUN, "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
    for i, (processes, arguments) in enumerate(parts):
        command += ([":"] if i > 0 else []) + ["-n", str(processes), PROGRAM, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, **(variables or {})})
    return done.returncode, done.stdout, done.stderr


def bench(*arguments, options=(), ranks=2, variables=None):
    settings = [word for option in options for word in ("--set", option)]
    return job((ranks, [*settings, "bench", *arguments]), variables=variables)


class Failures(unittest.TestCase):
    def test_a_process_that_fails_alone_ends_the_job(self):
        code, _, errors = bench("--backend", "mpi", "--output", "/nonexistent/o", "-a", "ring", "-b", "8", "-e", "8",
                                options=["timeout=3s"])
        self.assertEqual(code, 2)
        self.assertIn("cannot write", errors)
        train = ["train", "--backend", "mpi", "--model", "mlp", "--steps", "1", "--no-evaluation"]
        code, _, errors = job((1, [*train, "--data", "/nonexistent"]), (1, [*train, "--synthetic", "512"]))
        self.assertEqual(code, 2)
        self.assertIn("/nonexistent", errors)

    def test_a_process_that_makes_no_world_is_not_waited_for(self):
        one_size = ["bench", "--backend", "mpi", "-a", "ring", *ONE_SIZE]
        code, _, errors = job((1, ["--set", "timeout=1s", *one_size]), (1, ["--set", "mpi_memory=1", *one_size]))
        self.assertNotEqual(code, 0)
        self.assertIn("ringside: ", errors)


    def test_a_failure_that_all_share_is_told_once(self):
        for _ in range(4):  # the first may be late on a busy machine: then the others tell, too
            code, _, errors = bench("--backend", "mpi", "-a", "no_such_algorithm", ranks=3)
            self.assertEqual(code, 2)
            if errors.count("ringside: ") == 1:
                return
        self.fail(errors)

    def test_a_failure_of_another_than_the_first_is_told(self):
        code, _, errors = job((1, ["bench", "--backend", "mpi", "-a", "ring", *ONE_SIZE]),
                              (1, ["bench", "--backend", "mpi", "-a", "no_such_algorithm"]))
        self.assertEqual(code, 2)
        self.assertIn("no_such_algorithm", errors)


class Refusals(unittest.TestCase):
    def check(self, words, *arguments):
        code, _, errors = bench(*arguments, *ONE_SIZE)
        self.assertEqual(code, 2, errors)
        self.assertIn(words, errors)

    def test_what_has_no_meaning_is_refused(self):
        self.check("-g: there are no GPUs", "--backend", "mpi", "-g", "2")
        self.check("--algorithm has no meaning", "--backend", "openmpi", "-a", "ring")
        self.check("--compare has no meaning", "--backend", "openmpi", "--compare", "openmpi")

    def test_another_mpi_than_the_one_that_runs_it_cannot_be_measured(self):
        self.check("--compare openmpi", "--backend", "mpi", "--compare", "mpich", "-a", "ring")


class Reports(unittest.TestCase):
    def test_every_rank_is_a_process_of_its_own(self):
        code, text, errors = bench("--backend", "mpi", "-a", "ring", *ONE_SIZE)
        self.assertEqual(code, 0, errors)
        self.assertIn("2 MPI processes on 1 host (Open MPI", text)
        self.assertNotIn("threads of one process", text)
        self.assertEqual(len(set(re.findall(r"Pid +(\d+)", text))), 2, text)
        code, text, errors = bench("--backend", "mpi", "-a", "ring", "--format", "json", *ONE_SIZE)
        self.assertEqual(code, 0, errors)
        self.assertEqual(len({device["pid"] for device in json.loads(text)["config"]["devices"]}), 2)

    @unittest.skipUnless(FAKE_GPUS, "there is no double of the CUDA runtime")
    def test_memory_of_gpus_is_checked(self):
        on_gpus = {"LD_LIBRARY_PATH": FAKE_GPUS + ":" + os.environ.get("LD_LIBRARY_PATH", "")}
        memory = ["--backend", "mpi", "--memory", "gpu", "--devices", "0,1"]
        code, _, errors = bench(*memory, "-a", "ring", *ONE_SIZE, variables=on_gpus)
        self.assertEqual(code, 2, errors)
        self.assertIn("a virtual device measures nothing", errors)
        code, text, errors = bench(*memory, "--allow-virtual", "-a", "ring", "--collective",
                                   "all_reduce,all_gather", *ONE_SIZE, variables=on_gpus)
        self.assertEqual(code, 0, errors)
        self.assertIn("buffers are memory of GPUs", text)
        code, _, errors = bench(*memory, "--allow-virtual", "--compare", "all", *ONE_SIZE, variables=on_gpus)
        self.assertEqual(code, 2, errors)
        self.assertIn("--compare has no meaning with --memory gpu", errors)

    def test_the_mpi_is_compared_with(self):
        for name in ("openmpi", "all"):
            code, text, errors = bench("--backend", "mpi", "-a", "ring", "--compare", name, "--format", "table",
                                       *ONE_SIZE)
            self.assertEqual(code, 0, errors)
            self.assertIn("openmpi / fastest of ours", text)


class Training(unittest.TestCase):
    SMALL = ["train", "--model", "mlp", "--width", "8", "--synthetic", "300", "--batch", "64", "--epochs", "1"]
    SHARDED = ["--strategy", "sharded", "--momentum", "0.9", "-a", "direct", "--shares", "2,1"]

    def test_sharded_has_the_bits_of_threads(self):
        code, text, errors = job((2, [*self.SMALL, *self.SHARDED, "--backend", "mpi", "--format", "json"]))
        self.assertEqual(code, 0, errors)
        threads = subprocess.run([PROGRAM, *self.SMALL, *self.SHARDED, "--ranks", "2", "--format", "json"],
                                 capture_output=True, text=True, timeout=60, check=True)
        ends = [json.loads(report)["epochs"][0] for report in (text, threads.stdout)]
        self.assertEqual(*(end["parameters_sha256"] for end in ends))
        self.assertEqual(*([rank["memory"] for rank in end["ranks"]] for end in ends))
        self.assertEqual(*([rank["samples"] for rank in end["balance"][0]["ranks"]] for end in ends))

    def test_processes_that_were_told_other_shares_do_not_begin(self):
        code, _, errors = job((1, [*self.SMALL, "--backend", "mpi", "--shares", "2,1"]),
                              (1, [*self.SMALL, "--backend", "mpi", "--shares", "1,2"]))
        self.assertEqual(code, 2)
        self.assertIn("rank 1 was given another list of shares than rank 0", errors)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
