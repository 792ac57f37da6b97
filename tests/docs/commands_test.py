#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs every command of the README, docs/ and examples/README.md; says which were not run as they are, and why.

usage: commands_test.py PROGRAM [--full] [--only DOCUMENT] [--verbose]

Commands run in a folder of their document's own, which looks like the root of a clone with a build in build/release,
in their order, and with the programs of the build first in PATH. What a reader has and a test has not (a file that was
pasted, nvidia-smi) is made by stage.py. Commands that would measure or train for long are shortened by options
(shorten.py); the full run measures for as long as the document says. documents.py says how a document tells that a
command is to be skipped, to fail, or to need a GPU.
"""
import argparse
import collections
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import compare
import documents
import shorten
import stage

ROOT = pathlib.Path(__file__).resolve().parents[2]


@dataclasses.dataclass
class Outcome:
    command: documents.Command
    verdict: str  # "as it is", "shortened", "double", "refused", "skipped", "failed"
    why: str = ""
    seconds: float = 0.0


# What commands say that cannot run here for want of something, and what is wanting: GPUs, and others.
NO_GPU = [(re.compile(r"\bno GPUs?\b"), "no GPU here, and it says so"),
          (re.compile("a virtual device measures nothing"), "the double of the CUDA runtime has no times")]
WANTING = [(re.compile("No module named '(safetensors|torch|numpy)'|PyTorch is not here"), "a Python module is not here"),
           (re.compile("this build has no Chart.js"), "no Chart.js in this build"),
           (re.compile("dot: command not found"), "Graphviz is not here")]


def left_out(command, setting):
    """Why a command is not even tried, or ""."""
    if command.how.skip:
        return command.how.skip
    if (command.how.full or command.text.startswith("bench/compare_")) and not setting.full:
        return "in the full run only"
    if re.match("cmake .*--preset", command.text):
        return "builds the tree or tests it, as was done before this test"
    if command.text.startswith("mpirun") and not setting.mpirun:
        return "no mpirun here"
    return ""


def judge(command, done, setting, shortened):
    """What came of a command that has ended."""
    printed = done.stdout.splitlines()
    on_double = command.how.gpu and not setting.gpus
    findings = command.how.exit == 0 and re.match("ringside diagnose|ringside topo --lint", command.text)
    if done.returncode != command.how.exit and not (findings and done.returncode == 1):  # 1: it has found something
        for words, why in WANTING + ([] if setting.gpus else NO_GPU):
            if words.search(done.stdout):
                return Outcome(command, "refused", why)
        return Outcome(command, "failed", f"exit code {done.returncode}, not {command.how.exit}:\n" + "\n".join(printed[-12:]))
    wrong = compare.difference(command.output, printed, command.how.output)
    if wrong:
        return Outcome(command, "failed", wrong)
    if on_double:
        return Outcome(command, "double", "on virtual GPUs")
    return Outcome(command, "shortened" if shortened else "as it is")


def run(command, folder, setting):
    if reason := left_out(command, setting):
        return Outcome(command, "skipped", reason)
    text = command.text if command.how.as_it_is else shorten.shortened(command.text, setting.full, bool(command.output))
    limit = command.how.seconds * (10 if setting.full else 1)
    environment = stage.environment(setting, folder, command.how.gpu)
    start = time.monotonic()
    with subprocess.Popen(["bash", "-c", "set -o pipefail; " + text], cwd=folder, env=environment, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True) as process:
        try:
            output, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            return Outcome(command, "failed", f"not over after {limit} s: {text}")
    outcome = judge(command, subprocess.CompletedProcess(text, process.returncode, output), setting, text != command.text)
    outcome.seconds = time.monotonic() - start
    return outcome


def run_document(document, setting):
    with tempfile.TemporaryDirectory(prefix="docs_") as name:
        folder = pathlib.Path(name)
        stage.furnish(folder, setting, document)
        return document, [run(command, folder, setting) for command in document.commands]


def chosen(only):
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "examples" / "README.md"]
    names = {str(path.relative_to(ROOT)): path for path in paths}
    return [documents.read(path, name) for name, path in names.items() if only in name]


def place(outcome):
    return f"{outcome.command.document}:{outcome.command.line}"


def report(document, outcomes, verbose):
    """Prints what came of a document's commands; the number of failures."""
    counts = collections.Counter(outcome.verdict for outcome in outcomes)
    if counts:
        print(f"{document.name}: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    for outcome in outcomes:
        if verbose:
            print(f"  {outcome.seconds:6.2f} s  {outcome.verdict:9}  {place(outcome)}: {outcome.command.text}")
        if outcome.verdict == "failed":
            print(f"FAILED {place(outcome)}: {outcome.command.text}\n  " + outcome.why.replace("\n", "\n  "))
    sys.stdout.flush()
    return counts["failed"]


def summarise(outcomes):
    """Prints which commands were not run as they are, and why."""
    reasons = collections.defaultdict(list)
    for outcome in outcomes:
        if outcome.why and outcome.verdict != "failed":
            reasons[(outcome.verdict, outcome.why)].append(place(outcome))
    for (verdict, why), places in sorted(reasons.items()):
        print(f"{verdict}: {why}: {', '.join(places)}")
    totals = collections.Counter(outcome.verdict for outcome in outcomes)
    print(f"{len(outcomes)} commands: " + ", ".join(f"{count} {verdict}" for verdict, count in totals.items()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    setting = stage.setting_of(ROOT, arguments.program.resolve(), arguments.full)
    failures, results = 0, []
    with concurrent.futures.ThreadPoolExecutor(1 if arguments.full else 2) as pool:
        for result in pool.map(lambda document: run_document(document, setting), chosen(arguments.only)):
            failures += report(*result, arguments.verbose)
            results += result[1]
    summarise(results)
    return 1 if failures or not results else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except documents.Refused as refusal:
        sys.exit(f"commands_test.py: {refusal}")
