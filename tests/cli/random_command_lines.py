#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Any command line ends with exit code 0, 1 or 2; with 2, and nothing else, one line on stderr says why.

usage: random_command_lines.py PROGRAM [COUNT] [SEED]

Command lines are made of the program's own options, as --help lists them, with values that fit and
values that do not. What could take long (bench, train) is kept short.
"""
import collections
import concurrent.futures
import random
import re
import subprocess
import sys
import tempfile

VALUES = ["", "0", "1", "2", "3", "-1", "4", "1e9", "99999999999999999999", "nan", "x", "ring", "auto", "two_shot:slices=2",
          "ring:order=1-0", "ring:", "4K", "64", "1..3", "0,1", "a,b", "../x", "no/such/file", "-", "--", "%s", "\x1b[31m", "é",
          "json", "text", "all_reduce", "float32", "int8", "4gpu-pcie4-two-switches", "dgx1v", "GPU0", "50ms", "GPU0-GPU1=3",
          "remove:GPU1", "=", ":", "((", "1" * 300]
SHORT = {
    "bench": ["--time", "1ms", "--rounds", "1", "--end", "64", "--timeout", "2s"],
    "train": ["--model", "mlp", "--synthetic", "64", "--batch", "32", "--epochs", "1", "--width", "2"],
    "simulate": ["--sizes", "1K"],
}
# They measure for minutes, or start other programs.
LEFT_OUT = {"--slow-wire", "--tune", "--tune-time", "--regret", "--preflight", "--live", "--fit", "--help", "-h", "--version", "--compare"}
POSITIONAL = {"topo": ["no/such/file", "-", ""], "diagnose": ["no/such/file", "-"], "plan": ["ring", "two_shot", "x", ""]}


def run(program, words, folder):
    return subprocess.run([program, *words], cwd=folder, capture_output=True, stdin=subprocess.DEVNULL, timeout=60, check=False)


def options_of(program, command, folder):
    text = run(program, [command, "--help"], folder).stdout.decode()
    found = []
    for line in text.splitlines():
        match = re.match(r"  (-[^ ]+)( [A-Z][^ ]*)?", line)
        if match:
            names = [name for name in match[1].split(",") if name.startswith("-")]
            if not LEFT_OUT & set(names):
                found.append((names[-1], match[2] is not None))
    return found


def command_lines(program, count, seed, folder):
    chance = random.Random(seed)
    listing = run(program, ["--help"], folder).stdout.decode()
    commands = re.findall(r"^  ([a-z]+)  ", listing[listing.find("Subcommands"):], re.M)
    if len(commands) < 6:
        sys.exit(f"random_command_lines.py: --help lists {commands}")
    options = {command: options_of(program, command, folder) for command in commands}
    for _ in range(count):
        command = chance.choice(commands)
        words = [command, *SHORT.get(command, [])]
        if command in POSITIONAL and chance.random() < 0.8:
            words.append(chance.choice(POSITIONAL[command]))
        for _ in range(chance.randint(0, 3)):
            if options[command] and chance.random() < 0.95:
                name, takes_value = chance.choice(options[command])
                words += [name] + ([chance.choice(VALUES)] if takes_value or chance.random() < 0.05 else [])
            else:
                words.append(chance.choice(VALUES))
        yield [word for word in words if "\0" not in word]


def fault(program, words, folder, codes):
    """What is wrong, or nothing; counts the exit code."""
    try:
        done = run(program, words, folder)
    except subprocess.TimeoutExpired:
        return "it takes more than a minute"
    codes[done.returncode] += 1
    error = done.stderr.decode(errors="replace")
    if done.returncode not in (0, 1, 2):
        return f"exit code {done.returncode}: {error[-300:]}"
    if done.returncode != 2:
        return None
    lines = [line for line in error.splitlines() if line.strip() and not line.startswith("ringside: warning")]
    if len(lines) != 1:
        return f"{len(lines)} lines on stderr: {error[:300]!r}"
    if "\x1b" in error:
        return f"an escape on stderr: {error!r}"
    return None


def main():
    program = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    faults = 0
    codes = collections.Counter()
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        lines = list(command_lines(program, count, seed, folder))
        for words, what in zip(lines, pool.map(lambda words: fault(program, words, folder, codes), lines)):
            if what:
                faults += 1
                print(f"{words}\n    {what}")
    ended = ", ".join(f"{codes[code]} with {code}" for code in sorted(codes))
    print(f"{len(lines)} command lines (seed {seed}) ended: {ended}; {faults} faults")
    # If all are refused, or none, the lines are no good.
    sys.exit(1 if faults or not codes[0] or not codes[2] else 0)


if __name__ == "__main__":
    main()
