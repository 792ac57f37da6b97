#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A rank that is killed or stopped in the middle of a collective: all others are told which one, within
the time limit; under plain mpirun the job ends with an error; nothing is left behind.

usage: failures_test.py MPIRUN PROGRAM [FOLDER]
FOLDER: of the double of the CUDA runtime.
"""
import os
import re
import signal
import subprocess
import sys
import time
import unittest

MPIRUN, PROGRAM = sys.argv[1:3]
FAKE_GPUS = sys.argv[3] if len(sys.argv) > 3 else None
LIMIT = 1.5
TOLD = re.compile(r"rank (\d+) peer (-?\d+) code (\w+) after ([\d.]+) s: (.*)")


def processes():
    """Of the program under test: number and state."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                if file.read().split(b"\0")[0] != PROGRAM.encode():
                    continue
            with open(f"/proc/{name}/stat") as file:
                found[int(name)] = file.read().rsplit(")", 1)[1].split()[0]
        except OSError:
            pass
    return found


def shared_files():
    return {name for name in os.listdir("/dev/shm") if "ringside" in name}


def run(how, victim, ranks, hosts, spec, elements, recovery=True, on_gpus=False):
    command = [MPIRUN, "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]
    if recovery:
        command.append("--enable-recovery")
    command += [PROGRAM, how, str(victim), spec, str(elements), str(LIMIT)]
    environment = {**os.environ, "RINGSIDE_MPI_HOSTS": hosts}
    if on_gpus:
        command.append("0")
        environment["LD_LIBRARY_PATH"] = FAKE_GPUS + ":" + environment.get("LD_LIBRARY_PATH", "")
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    lines = []
    begin = time.monotonic()
    for line in child.stdout:
        if match := TOLD.match(line):
            lines.append(match)
        if recovery and len(lines) == ranks - 1:
            break
        if time.monotonic() - begin > 60:
            break
    # mpirun waits for one that is stopped.
    if recovery:
        for number, state in processes().items():
            if state == "T":
                os.kill(number, signal.SIGKILL)
    code = child.wait(timeout=60)
    child.stdout.close()
    return lines, code


class Failures(unittest.TestCase):
    def setUp(self):
        self.assertEqual(processes(), {})
        self.files = shared_files()

    def tearDown(self):
        deadline = time.monotonic() + 10
        while processes() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(processes(), {})
        self.assertEqual(shared_files(), self.files)

    def check(self, how, victim, ranks, hosts, spec, elements, on_gpus=False):
        lines, _ = run(how, victim, ranks, hosts, spec, elements, on_gpus=on_gpus)
        told = [" ".join(match.groups()) for match in lines]
        self.assertEqual(len(lines), ranks - 1, told)
        for match in lines:
            self.assertEqual(int(match[2]), victim, told)
            self.assertRegex(match[5], rf"rank(s [\d, ]*)? ?\b{victim}\b")
            # The limit, the time of grace, and a machine that is busy with other things.
            self.assertLess(float(match[4]), LIMIT + 6, told)

    def test_a_rank_that_is_killed_is_named(self):
        self.check("KILL", 1, 3, "3", "ring", 100_000)
        self.check("KILL", 0, 3, "3", "two_shot", 1000)

    def test_a_rank_that_is_stopped_is_named(self):
        self.check("STOP", 1, 3, "3", "ring", 100_000)
        self.check("STOP", 0, 2, "2", "one_shot", 100)

    def test_a_rank_of_another_host_that_is_killed_is_named(self):
        self.check("KILL", 1, 4, "2,2", "ring", 100_000)
        self.check("KILL", 2, 4, "2,2", "hierarchical", 1000)

    def test_a_rank_of_another_host_that_is_stopped_is_named(self):
        self.check("STOP", 3, 4, "2,2", "ring", 100_000)
        self.check("STOP", 0, 3, "1,1,1", "ring", 100_000)

    @unittest.skipUnless(FAKE_GPUS, "there is no double of the CUDA runtime")
    def test_a_rank_with_a_gpu_that_is_struck_is_named(self):
        self.check("KILL", 1, 3, "3", "ring", 100_000, on_gpus=True)
        self.check("STOP", 0, 2, "2", "two_shot", 100_000, on_gpus=True)
        self.check("KILL", 2, 4, "2,2", "hierarchical", 100_000, on_gpus=True)

    def test_under_plain_mpirun_the_job_ends_with_an_error(self):
        for how in ("KILL", "STOP"):
            _, code = run(how, 1, 3, "3", "ring", 10_000, recovery=False)
            self.assertNotEqual(code, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
