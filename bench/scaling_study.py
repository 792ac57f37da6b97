#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""LeNet's learning rate against k x batch, on k ranks (Dive into Deep Learning 12.5, exercises 1 and 2).

usage: scaling_study.py PROGRAM RECORDS [--ranks 1,2,4] [--epochs N] [--warmup E] [--seeds 1,2] [--table]

k ranks learn from batches of 256 k at 0.2 times 1, the square root of k, and k, each with a warm-up (from 0,
linearly, within E epochs) and without. RECORDS has a line of JSON for every run; runs that are in it are not
made again, so that the study can be stopped and go on. The last lines are the table, in Markdown; --table
prints that of the records and runs nothing.

Accuracies do not depend on what else the machine does, so it may run beside other work.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

BATCH, RATE = 256, 0.2  # the textbook's
RULES = {"1": lambda k: 1.0, "sqrt k": lambda k: k**0.5, "k": lambda k: float(k)}
# Accuracies whose first epoch is told: the first when LeNet has left its plateau for good, the second
# when it is about as good as it gets in ten epochs.
MARKS = (0.75, 0.80)


def numbers(text):
    return [int(word) for word in text.split(",")]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program", help="the ringside program")
    parser.add_argument("records", type=pathlib.Path)
    parser.add_argument("--ranks", type=numbers, default="1,2,4")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--warmup", type=float, default=2)
    parser.add_argument("--seeds", type=numbers, default="1,2")
    parser.add_argument("--table", action="store_true")
    return parser.parse_args()


def runs(args):
    """What is to be run, as records without results; seed by seed, so that a part of it tells something."""
    for seed in args.seeds:
        for warmup in (0, args.warmup):
            for rule in reversed(RULES):  # what is advised today comes first
                for ranks in args.ranks:
                    if ranks > 1 or rule == "1":  # on one rank the rules are one
                        yield {"ranks": ranks, "rule": rule, "warmup": warmup, "seed": seed, "epochs": args.epochs}


def accuracies(program, run):
    """Test accuracy after every epoch; nothing where the loss became infinite."""
    rate = RATE * RULES[run["rule"]](run["ranks"])
    command = [program, "train", "--model", "lenet", "--ranks", str(run["ranks"]), "--batch", str(BATCH * run["ranks"]),
               "--lr", repr(rate), "--no-scaling", "--epochs", str(run["epochs"]), "--seed", str(run["seed"]),
               "--format", "json"]
    if run["warmup"]:
        command += ["--warmup", str(run["warmup"])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return [epoch["test_accuracy"] for epoch in json.loads(done.stdout)["epochs"]]
    if "too high" in done.stderr:
        return []
    sys.exit(f"scaling_study.py: {program} failed: {done.stderr.strip()}")


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def study(args):
    """The records of all runs; those that are missing are made."""
    done = {key_of(record): record for record in read(args.records)}
    for run in runs(args):
        if key_of(run) in done:
            continue
        record = {**run, "test": accuracies(args.program, run)}
        done[key_of(run)] = record
        with args.records.open("a") as file:
            file.write(json.dumps(record) + "\n")
        print(f"# {record}", file=sys.stderr, flush=True)
    return list(done.values())


def key_of(run):
    return tuple(run[name] for name in ("ranks", "rule", "warmup", "seed", "epochs"))


def first_epoch(test, mark):
    """The epoch, from 1 on, after which it is as good as that."""
    return next((epoch for epoch, accuracy in enumerate(test, 1) if accuracy >= mark), None)


def in_words(values, form):
    """The median, with the range where the seeds differ; "-" stands for what was not reached."""
    if any(value is None for value in values):
        return ", ".join("-" if value is None else form(value) for value in values)
    middle = form(statistics.median(values))
    return middle if len(set(values)) == 1 else f"{middle} ({form(min(values))} to {form(max(values))})"


def print_table(records):
    groups = {}
    for record in records:
        groups.setdefault(key_of(record)[:3] + (record["epochs"],), []).append(record["test"])
    print("| ranks | batch | rate | x | warm-up | seeds | last test accuracy | best | "
          + " | ".join(f"epochs to {mark:.2f}" for mark in MARKS) + " |")
    print("|---|---|---|---|---|---|---|---|" + "---|" * len(MARKS))
    order = list(RULES)
    for (ranks, rule, warmup, _), tests in sorted(groups.items(), key=lambda item: (
            item[0][0], order.index(item[0][1]), item[0][2])):
        cells = [str(ranks), str(BATCH * ranks), f"{RATE * RULES[rule](ranks):.3g}", rule,
                 f"{warmup:g} epochs" if warmup else "none", str(len(tests)),
                 in_words([test[-1] if test else None for test in tests], "{:.3f}".format),
                 in_words([max(test) if test else None for test in tests], "{:.3f}".format)]
        cells += [in_words([first_epoch(test, mark) for test in tests], "{:g}".format) for mark in MARKS]
        print("| " + " | ".join(cells) + " |")


def main():
    args = arguments()
    print_table(read(args.records) if args.table else study(args))


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        print(f"scaling_study.py: {error.filename}: {error.strerror}", file=sys.stderr)
        sys.exit(2)
    except json.JSONDecodeError as error:
        print(f"scaling_study.py: records that cannot be read: {error}", file=sys.stderr)
        sys.exit(2)
