#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The steps of tools/gpu_check.sh: each a program of ours under a time limit, the most valuable first.

Several ranks on one GPU measure kernels, the cost of issuing, what a graph saves, the traffic of the
memory, and whether results are right on real hardware. They do not measure links between GPUs,
scaling, or overlap across GPUs: with one GPU the report says so first.

Exit code 0: all that ran is right. 1: a finding. 2: there is no GPU here, or wrong usage. The usage
is that of tools/gpu_check.sh; with --only-usage it is checked, and that there is a GPU, and that is all.
"""
import argparse
import datetime
import json
import math
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Step:
    """A command, what it is for, its time limit in seconds, and how its output is read."""

    def __init__(self, name, limit, meaning, command, read, optional=False):
        self.name, self.limit, self.meaning = name, limit, meaning
        self.command, self.read, self.optional = command, read, optional


def test_counts(output):
    """What GoogleTest says of itself, and the lines with counts that our tests print."""
    found = {"counts": re.findall(r"^cuda [a-z ,]*: .*$", output, re.MULTILINE)[:20]}
    for key, pattern in (("passed", r"\[  PASSED  \] (\d+)"), ("failed", r"\[  FAILED  \] (\d+) test"),
                         ("skipped", r"\[  SKIPPED \] (\d+)")):
        match = re.search(pattern, output)
        found[key] = int(match.group(1)) if match else 0
    found["failures"] = re.findall(r"^\[  FAILED  \] (\S+\.\S+)", output, re.MULTILINE)[:40]
    return found


def json_lines(output):
    return {"rows": [json.loads(line) for line in output.splitlines() if line.startswith("{")]}


def sanitizer_errors(output):
    match = re.search(r"ERROR SUMMARY: (\d+) error|SUMMARY: (\d+) hazards", output)
    return {"errors": int(match.group(1) or match.group(2)) if match else None, "tail": output[-600:]}


def whole_json(output):
    begin = output.find("{")
    return {"report": json.loads(output[begin:])} if begin >= 0 else {}


def sanitized(tool, test, pattern):
    sanitizer = shutil.which("compute-sanitizer")
    # Tests make the runtime refuse calls: that is no error of theirs.
    quiet = ["--report-api-errors", "no"] if tool == "memcheck" else []
    return ([sanitizer, "--tool", tool, *quiet, "--error-exitcode", "1", test, f"--gtest_filter={pattern}"]
            if sanitizer else None)


def steps(build, gpus):
    tests = build / "tests" / "bin"
    program = str(build / "bin" / "ringside")
    devices = ",".join(["0"] * 4) if gpus == 1 else ",".join(map(str, range(gpus)))
    bench = [program, "bench", "--devices", devices, "--format", "json", "--time", "30ms"]
    world = str(tests / "cuda_world_test")
    return [
        Step("contract", 40, "the real runtime is as the test double says",
             [str(tests / "cuda_contract")], test_counts),
        Step("kernels", 60, "every kernel gives the bits of the host",
             [str(tests / "device_fold_test")], test_counts),
        Step("executor", 90, "several ranks give the reference's bits, in streams and as graphs",
             [str(tests / "cuda_conformance_test")], test_counts),
        Step("world", 30, "streams, captures, graphs as documented", [world], test_counts),
        Step("failing", 30, "what is wrong is told", [str(tests / "cuda_failing_test")], test_counts),
        Step("fold_rate", 60, "the fold kernels against the rate of a copy",
             [str(build / "bin" / "micro_device_fold"), "256", "1024"], json_lines),
        Step("all_reduce", 100, "direct all-reduce against its floor; streams against graphs",
             [str(build / "bin" / "micro_device_all_reduce"), "90"], json_lines),
        Step("preflight", 40, "host copies, and every pair of GPUs",
             [program, "bench", "--preflight", "--quick", "--format", "json"], whole_json),
        Step("bench", 60, "the benchmark itself, results checked",
             [*bench, "--backend", "cuda", "--begin", "1K", "--end", "256M", "--factor", "64"], whole_json),
        Step("memcheck", 60, "no bad access (compute-sanitizer)", sanitized("memcheck", world, "*"),
             sanitizer_errors, True),
        Step("memcheck_bad", 60, "nor where calls fail (compute-sanitizer)",
             sanitized("memcheck", str(tests / "cuda_failing_test"), "*"), sanitizer_errors, True),
        Step("racecheck", 30, "no race inside kernels (compute-sanitizer)",
             sanitized("racecheck", world, "*IsComplete*"), sanitizer_errors, True),
        Step("initcheck", 30, "nothing unwritten is read (compute-sanitizer)",
             sanitized("initcheck", world, "*IsComplete*"), sanitizer_errors, True),
        Step("copies", 30, "copies by copy engines and by kernels",
             [*bench, "--backend", "cuda", "--collective", "all_gather", "-a", "direct", "--copies", "all",
              "--issue", "graphs", "--begin", "4K", "--end", "256M", "--factor", "8"], whole_json),
        Step("nccl_test", 30, "NCCL gives what the definitions say",
             [str(tests / "nccl_conformance_test"), "--gtest_filter=RealNccl.*"], test_counts, True),
        Step("nccl", 40, "NCCL beside ours, where it is installed",
             [program, "bench", "--backend", "nccl", "--devices", devices if gpus > 1 else "0", "--format", "json",
              "--time", "20ms", "--end", "64M", "--factor", "64"], whole_json, True),
    ]


def output_of(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=20, check=False).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def facts():
    fields = ["name", "driver_version", "memory.total", "clocks.sm", "clocks.mem", "pci.bus_id"]
    lines = output_of(["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader"])
    nvcc = re.search(r"release ([\d.]+)", output_of(["nvcc", "--version"]))
    # GPU_CHECK_COMMIT: where the tree was copied without its history (perhaps into another tree's).
    commit = (os.environ.get("GPU_CHECK_COMMIT") or output_of(["git", "-C", str(ROOT), "rev-parse", "HEAD"]) or
              "unknown")
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "commit": commit,
        "gpus": [dict(zip(fields, (part.strip() for part in line.split(",")))) for line in lines.splitlines()
                 if line.count(",") == len(fields) - 1],
        "nvcc": nvcc.group(1) if nvcc else None,
        "host": {"processor": platform.processor() or platform.machine(), "cores": os.cpu_count(),
                 "kernel": platform.release()},
    }


def is_here(command):
    return command is not None and (shutil.which(command[0]) or pathlib.Path(command[0]).exists())


def run_command(command, limit):
    """Its output, also of one that was cut off, and how it ended."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=limit, check=False)
        return done.stdout, "ok" if done.returncode == 0 else f"exit {done.returncode}"
    except subprocess.TimeoutExpired as expired:
        raw = expired.stdout or b""
        return raw.decode(errors="replace") if isinstance(raw, bytes) else raw, "time limit"


def run_step(step, limit):
    if not is_here(step.command):
        return {"step": step.name, "state": "not here"}
    started = time.monotonic()
    output, state = run_command(step.command, limit)
    record = {"step": step.name, "meaning": step.meaning, "state": state,
              "seconds": round(time.monotonic() - started, 1), "command": " ".join(step.command)}
    try:
        record["found"] = step.read(output)
    except (ValueError, KeyError) as error:
        record["found"] = {"unreadable": str(error)}
    if state != "ok":
        record["output_tail"] = output[-3000:]
    return record


def summary_of(record):
    found = record.get("found", {})
    if "passed" in found:
        return f"{found['passed']} passed, {found['failed']} failed, {found['skipped']} skipped"
    if "errors" in found:
        return f"{found['errors']} errors"
    rows = found.get("rows", [])
    # Short calls have nothing to do with what the memory can move.
    fractions = [row[key] for row in rows for key in ("fraction_of_copy", "fraction_of_floor")
                 if key in row and row["bytes"] >= 64 << 20]
    text = f"{len(rows)} rows" if rows else ""
    return text + (f", {min(fractions):.2f} to {max(fractions):.2f} of the limit" if fractions else "")


def graph_gains(records):
    """What a call in streams costs over one that launches a graph, by spec, ranks and size."""
    by_key = {}
    for record in records:
        for row in record.get("found", {}).get("rows", []):
            if row.get("what") == "device_all_reduce":
                by_key.setdefault((row["spec"], row["ranks"], row["bytes"]), {})[row["issue"]] = row
    return [(key, pair["streams"]["microseconds"] / pair["graph"]["microseconds"],
             pair["streams"]["host_microseconds"] / pair["graph"]["host_microseconds"])
            for key, pair in by_key.items() if len(pair) == 2]


def table(report):
    """The report for people, line by line."""
    yield from report["says"]
    for record in report["steps"]:
        yield f"{record['step']:12} {record['state']:12} {record.get('seconds', 0):6.1f} s  {summary_of(record)}".rstrip()
        for name in sorted(set(record.get("found", {}).get("failures", [])))[:10]:
            yield f"             FAILED {name}"
    for (spec, ranks, size), device, host in graph_gains(report["steps"]):
        if size <= 1 << 16:
            yield (f"graph gain   {spec}, {ranks} ranks, {size} B: {device:.1f} x (device), "
                   f"{host:.1f} x (host)")


def file_of(output, about):
    """Dated and named by the GPU: "2026-11-29-gpu-nvidia-h200.json"."""
    gpu = re.sub(r"[^a-z0-9]+", "-", about["gpus"][0]["name"].lower()).strip("-")
    return output / f"{about['date'][:10]}-gpu-{gpu}.json"


def introduction(about):
    lines = [f"GPU check, measured {about['date']}, commit {about['commit'][:12]}: " +
             "; ".join(f"{gpu['name']}, driver {gpu['driver_version']}" for gpu in about["gpus"])]
    if len(about["gpus"]) == 1:
        lines.insert(0, "One GPU: nothing here says anything of links between GPUs, scaling, or overlap across GPUs.")
    return lines


def run_all(chosen, report, file, minutes):
    end = time.monotonic() + minutes * 60
    for step in chosen:
        left = end - time.monotonic()
        record = {"step": step.name, "state": "no time left"} if left < 5 else run_step(step, min(step.limit, left))
        record["optional"] = step.optional
        report["steps"].append(record)
        file.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")  # as it goes
        print(f"... {step.name}: {record['state']}", file=sys.stderr, flush=True)


def refuse(message):
    print(f"tools/gpu_check.sh: {message}", file=sys.stderr)
    sys.exit(2)


class Parser(argparse.ArgumentParser):
    """One whose errors are one line."""

    def error(self, message):
        refuse(f"{message} (see --help)")


def positive(text):
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"expected a positive number, got '{text}'")
    return number


def read_arguments():
    parser = Parser(prog="tools/gpu_check.sh", add_help=False, allow_abbrev=False)
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--output", default=ROOT / "bench" / "results", type=pathlib.Path)
    parser.add_argument("--minutes", default=10.0, type=positive)
    parser.add_argument("--steps")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--only-usage", action="store_true")
    parser.add_argument("-h", "--help", action="store_true")
    arguments = parser.parse_args()
    if arguments.build and not arguments.build.is_dir():
        refuse(f"--build: there is no folder {arguments.build}")
    return arguments


def chosen_steps(wanted, known):
    """Those of the comma-separated names, in our order; all where nothing is said."""
    if wanted is None:
        return known
    names = [step.name for step in known]
    for name in wanted.split(","):
        if name not in names:
            refuse(f"no step is called '{name}' (see --list)")
    return [step for step in known if step.name in wanted.split(",")]


def check_writable(folder):
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        refuse(f"--output {folder}: {error.strerror.lower()}")
    if not os.access(folder, os.W_OK | os.X_OK):
        refuse(f"--output {folder}: permission denied")


def main():
    arguments = read_arguments()
    if arguments.help:
        return subprocess.run([str(ROOT / "tools" / "gpu_check.sh"), "--help"], check=False).returncode
    about = facts()
    build = arguments.build or ROOT / "build" / "release"
    chosen = chosen_steps(arguments.steps, steps(build.resolve(), max(1, len(about["gpus"]))))
    if arguments.list:
        for step in chosen:
            print(f"{step.name:12} at most {step.limit:3} s  {step.meaning}")
        return 0
    if not about["gpus"]:
        refuse("no GPU: nvidia-smi finds none")
    check_writable(arguments.output)
    if arguments.only_usage:
        return 0
    report = {"says": introduction(about), "facts": about, "steps": []}
    file = file_of(arguments.output, about)
    run_all(chosen, report, file, arguments.minutes)
    lines = "\n".join(table(report))
    file.with_suffix(".txt").write_text(lines + "\n", encoding="utf-8")
    print(lines)
    wrong = [record for record in report["steps"] if record["state"].startswith("exit") and not record["optional"]]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
