#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Our all_reduce on MPI processes beside the MPI's own, in the same processes, on the same memory, in
# interleaved rounds: under Open MPI and MPICH, from private buffers and from shared ones.
#
# usage: bench/compare_mpi.sh [PROGRAM] [RANKS...]     (default: build/release/bin/ringside 2 4)
# Prints for every size: the time of the MPI over ours, out of place and in place (the median of the ratios
# of the rounds).
set -euo pipefail

if [[ ${1:-} == -h || ${1:-} == --help ]]; then # what stands above
  sed -n '3,/^set/{/^set/d;s/^# \?//;p}' "${BASH_SOURCE[0]}"
  exit 0
fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."
program=${1:-build/release/bin/ringside}
shift || true
[[ $# -gt 0 ]] || set -- 2 4
[[ -x $program ]] || { echo "bench/compare_mpi.sh: no program $program" >&2 && exit 2; }

report=$(mktemp)
trap 'rm -f "$report"' EXIT
table() {
  python3 - "$report" "$1" <<'END'
import json, sys
report = json.load(open(sys.argv[1]))
found = {}
for row in report["ratios"]:
    found.setdefault(row["size"], {})[row["placement"]] = row["peer_time_over_ours"]
times = {}
for row in report["results"]:
    times.setdefault(row["size"], {})[row["algorithm"]] = row["out_of_place"]["time"] if row["out_of_place"] else None
wrong = report["out_of_bounds"]["count"]
print(f"\n{sys.argv[2]}: wrong elements in {wrong} checks")
print(f"{'bytes':>12} {'out of place':>13} {'in place':>9}   us (out of place)")
for size, ratios in sorted(found.items()):
    cells = [f"{ratios[place]:.2f}" if place in ratios else "-" for place in ("out_of_place", "in_place")]
    print(f"{size:>12} {cells[0]:>13} {cells[1]:>9}   " + ", ".join(f"{name} {time:.1f}" for name, time in times[size].items() if time))
END
}

for ranks in "$@"; do
  for mpi in openmpi mpich; do
    launcher=$(command -v mpirun.$mpi) || { echo "$mpi is not installed" && continue; }
    options=()
    [[ $mpi == mpich ]] || options=(--allow-run-as-root --oversubscribe --bind-to none)
    # It polls without yielding: with more ranks than cores a call takes milliseconds.
    [[ $mpi == openmpi || $ranks -le $(nproc) ]] || continue
    for memory in private shared; do
      "$launcher" "${options[@]}" -n "$ranks" "$program" bench --backend mpi --memory $memory --compare $mpi \
        --algorithm auto --begin 8 --end 64M --factor 4 --rounds 9 --time 0.2 --format json >"$report"
      table "$ranks ranks, $memory buffers, beside $mpi"
    done
  done
done
