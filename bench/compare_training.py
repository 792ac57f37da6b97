#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`ringside train` beside PyTorch's DistributedDataParallel on this machine's cores.

usage: compare_training.py PROGRAM [--model M] [--batch N] [--steps N] [--rounds N] [--width N]

The two take turns, each with one rank and with two. The last lines are the ratios, medians over rounds
of same-round ratios: of samples per second, without the rounds in which a neighbour took a core (processor
time more than 5 % below ranks x time; ranks that wait for each other look the same) and with them; and of
samples per processor second, which neighbours hardly move but which does not see that a rank waits.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

PEER = pathlib.Path(__file__).parent / "peers" / "ddp.py"
# A rank that gets less of its core than this was disturbed.
UNDISTURBED = 0.95


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program", help="the ringside program")
    parser.add_argument("--model", default="lenet")
    parser.add_argument("--width", type=int)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--algorithm", default="auto")
    return parser.parse_args()


def common(args):
    words = ["--model", args.model, "--batch", str(args.batch), "--steps", str(args.steps)]
    return words + (["--width", str(args.width)] if args.width else [])


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"compare_training.py: {command[0]} failed: {done.stderr.strip()}")
    return done.stdout


def ours(args):
    """Per number of ranks: samples per second, and cores that were busy."""
    text = run([args.program, "train", "--compare", "--rounds", "1", "--ranks", "2", "--strategy", "distributed",
                "--algorithm", args.algorithm, "--format", "json", *common(args)])
    return {row["ranks"]: (row["samples_per_second"], row["cores"]) for row in json.loads(text)["rows"]}


def peers(args):
    rows = map(json.loads, run([sys.executable, str(PEER), "--ranks", "1,2", *common(args)]).splitlines())
    return {row["ranks"]: (row["samples_per_second"], row["processor_seconds"] / row["seconds"]) for row in rows}


def table(rounds, value):
    """The ratios, medians over rounds and their range, of what `value` takes from (samples/s, cores)."""
    def median(first, second):
        ratios = [value(one[first[0]][first[1]]) / value(one[second[0]][second[1]]) for one in rounds]
        return f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})"

    print(f"ours / peer, 1 rank   {median(('ours', 1), ('peer', 1))}")
    print(f"ours / peer, 2 ranks  {median(('ours', 2), ('peer', 2))}")
    print(f"ours, 2 ranks / 1     {median(('ours', 2), ('ours', 1))}")
    print(f"peer, 2 ranks / 1     {median(('peer', 2), ('peer', 1))}")


def main():
    args = arguments()
    rounds, undisturbed = [], []
    for number in range(args.rounds):
        one = {"ours": ours(args), "peer": peers(args)}
        low = [f"{who} on {ranks}" for who, rows in one.items() for ranks, (_, cores) in rows.items()
               if cores < UNDISTURBED * ranks]
        print(f"# round {number + 1}: " + "  ".join(
            f"{who} {ranks}: {speed:.0f}/s ({cores:.2f} cores)" for who, rows in one.items()
            for ranks, (speed, cores) in rows.items()) + (f"  disturbed: {', '.join(low)}" if low else ""), flush=True)
        rounds.append(one)
        if not low:
            undisturbed.append(one)
    print(f"# measured: {args.model}, batch {args.batch}; samples per second, {len(undisturbed)} undisturbed rounds")
    if undisturbed:
        table(undisturbed, lambda row: row[0])
    print(f"# samples per second, all {len(rounds)} rounds")
    table(rounds, lambda row: row[0])
    print(f"# samples per processor second, all {len(rounds)} rounds")
    table(rounds, lambda row: row[0] / row[1])


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        print(f"compare_training.py: {error.filename}: {error.strerror}", file=sys.stderr)
        sys.exit(2)
