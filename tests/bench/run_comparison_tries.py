#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether `ringside bench --compare` tells a slower program from noise, tried for real: pairs of
runs of the same program, and of one against one that is 10 % slower. Interleaved, so that what the
machine does meanwhile it does to both kinds of pairs.

run_comparison_tries.py RINGSIDE SLOWED [TRIES [FOLDER]]
Exit code 1 if a pair was judged wrongly.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

WHAT = ["-a", "two_shot,ring,one_shot,recursive_doubling", "--ranks", "2", "-b", "512", "-e", "1M",
        "-f", "8", "--time", "60ms", "--rounds", "12", "--check", "0", "--compare", "baseline:two_shot"]


def measure(program, path):
    subprocess.run([program, "bench", *WHAT, "--spread", "--output", str(path)], check=True)


def compare(old, new):
    result = subprocess.run([sys.argv[1], "bench", "--compare", str(old), "--against", str(new),
                             "--format", "json"], stdout=subprocess.PIPE, check=False)
    if result.returncode == 2:  # no row could be compared
        return {"overall": {"new_over_old": None, "verdict": "unknown"}, "rows": [], "slower": False}
    comparison = json.loads(result.stdout)
    assert result.returncode == (1 if comparison["slower"] else 0)
    return comparison


def words(comparison):
    overall = comparison["overall"]
    rows = [row["verdict"] for row in comparison["rows"]]
    if overall["new_over_old"] is None:
        return "not comparable"
    return (f"{overall['new_over_old']:.3f} ({overall['low'] or 0:.3f} to {overall['high'] or 0:.3f}) "
            f"{overall['verdict']}; rows: {rows.count('slower')} slower, {rows.count('faster')} "
            f"faster, {rows.count('same')} same, {rows.count('unknown')} unknown")


def main():
    program, slowed = sys.argv[1:3]
    tries = int(sys.argv[3]) if len(sys.argv) > 3 else 10
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(sys.argv[4] if len(sys.argv) > 4 else temporary)
        folder.mkdir(exist_ok=True)
        wrong = again = 0
        for number in range(tries):
            for kind, other, expected in (("same", program, False), ("slowed", slowed, True)):
                old, new = folder / f"{kind}{number}a.json", folder / f"{kind}{number}b.json"
                for _ in range(5):  # until the cores are as far apart in both runs, as a person would
                    measure(program, old)
                    measure(other, new)
                    comparison = compare(old, new)
                    if comparison["overall"]["verdict"] != "unknown":
                        break
                    again += 1
                known = comparison["overall"]["verdict"] != "unknown"
                right = known and comparison["slower"] == expected
                wrong += not right
                print(f"{kind} {number}: {'right' if right else 'WRONG'}: {words(comparison)}",
                      flush=True)
        print(f"{2 * tries - wrong} of {2 * tries} pairs judged rightly; {again} pairs could not be "
              "compared and were measured again")
        return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
