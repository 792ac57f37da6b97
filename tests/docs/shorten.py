# SPDX-License-Identifier: MIT
"""The same command for less time: options that a document does not give are added, long sweeps are cut."""
import re

# Synthetic images need no data set.
TRAIN = {"--synthetic": "64", "--batch": "32", "--epochs": "1"}
TRAIN_COMPARE = {"--synthetic": "64", "--batch": "16", "--steps": "1", "--rounds": "1", "--warmup-steps": "1"}
# In the quick run.
TRAIN_QUICK = {"--model": "mlp"}  # needs no libtorch, which takes seconds to load on a busy machine
BENCH = {"--iterations": "1", "--rounds": "1"}
BENCH_SIZES = {"--begin": "1K", "--end": "1K"}
SPREAD = {"--iterations": "1", "--ranks": "2", "--algorithm": "ring", "--end": "64"}
SHORT_NAMES = {"--end": "-e", "--begin": "-b", "--ranks": "-t", "--algorithm": "-a", "--time": "-n", "--iterations": "-n"}


def has(option, words):
    return any(word.split("=")[0] in (option, SHORT_NAMES.get(option)) for word in words)


def bench_additions(words, keep_sizes):
    if any(word == "--compare" and after.endswith(".json") for word, after in zip(words, words[1:])):
        return {}  # measures what the other run measured
    if "--spread" in words:
        return SPREAD
    if "--preflight" in words:
        return {"--quick": ""}
    return BENCH if keep_sizes else BENCH | BENCH_SIZES


def without(options, rest):
    for option in options:
        rest = re.sub(rf"(?<= )({option}|{SHORT_NAMES[option]}) \S+ ?", "", rest)
    return rest


def shortened(text, full, keep_sizes):
    """The command with options added; `keep_sizes`: its output is shown, so the sizes must be those."""

    def add(match):
        command, rest = match[2], match[3]
        words = rest.split("#")[0].split()
        added = {}
        if command == "train" and "--on" not in words:
            added = TRAIN_COMPARE if "--compare" in words else TRAIN
            if "--compare" in words and "--synthetic" in words:
                added = {"--rounds": "1"}  # whether there are samples enough for its steps is to be seen
            if not full and not {"pipeline", "tensor"} & set(re.split("[ ,]", rest)):  # these split LeNet
                added = added | TRAIN_QUICK
            if "resnet18" in words:
                added = added | {"--synthetic": "8", "--width": "4"}
            if "--data" in words:
                added = {option: value for option, value in added.items() if option != "--synthetic"}
        elif command == "bench" and not full:
            added = bench_additions(words, keep_sizes)
            if "--begin" in added:
                rest = without(("--begin", "--end", "--time"), rest)
                words = rest.split("#")[0].split()
        options = "".join(f" {option} {value}".rstrip() for option, value in added.items() if not has(option, words))
        return match[1] + command + options + rest

    return re.sub(r"(\bringside(?: --?[a-z]+ \S+)* )(train|bench)\b([^|;&>\n]*)", add, text)
