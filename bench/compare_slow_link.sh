#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# All-reduce over hosts with a slow link: the hierarchical plan, the flat ring and the MPI's own, in the same
# processes, in interleaved rounds. The hosts are network namespaces (root; tc limits the rate).
#
# usage: bench/compare_slow_link.sh [PROGRAM] [RATE] [LAYOUT...]
#   (default: build/release/bin/ringside 1gbit 2,2 2,2,2; a layout is the ranks of each host)
# Prints for every size the medians of the rounds, and how many times the hierarchical plan's the others' are.
set -euo pipefail

if [[ ${1:-} == -h || ${1:-} == --help ]]; then # what stands above
  sed -n '3,/^set/{/^set/d;s/^# \?//;p}' "${BASH_SOURCE[0]}"
  exit 0
fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."
program=$(realpath -m "${1:-build/release/bin/ringside}")
rate=${2:-1gbit}
shift $(($# < 2 ? $# : 2))
[[ $# -gt 0 ]] || set -- 2,2 2,2,2
[[ -x $program ]] || { echo "bench/compare_slow_link.sh: no program $program" >&2 && exit 2; }

report=$(mktemp)
trap 'rm -f "$report"' EXIT

# The ranks of each host, as a spec has them: 2,2 is 0-1/2-3.
groups_of() {
  local first=0 host list= ranks
  IFS=, read -r -a ranks <<<"$1"
  for host in "${ranks[@]}"; do
    list+=${list:+/}$(seq -s - "$first" $((first + host - 1)))
    first=$((first + host))
  done
  echo "$list"
}

table() {
  python3 - "$report" <<'END'
import json, sys
report = json.load(open(sys.argv[1]))
times = {}
for row in report["results"]:
    name = "hierarchical" if row["algorithm"].startswith("hierarchical") else row["algorithm"]
    times.setdefault(row["size"], {})[name] = row["in_place"]["time"]
print("wrong elements in", report["out_of_bounds"]["count"], "checks")
for size, row in sorted(times.items()):
    ours = row.pop("hierarchical")
    others = ", ".join(f"{name} {time / 1e3:.1f} ms ({time / ours:.2f} x)" for name, time in row.items())
    print(f"{size >> 20:>4} MiB  hierarchical {ours / 1e3:.1f} ms; {others}")
END
}

for layout in "$@"; do
  echo "ranks of each host: $layout, links of $rate"
  tests/support/network_hosts.sh --rate "$rate" "$layout" "$program" bench --backend mpi --compare openmpi \
    --algorithm "hierarchical:groups=$(groups_of "$layout"),inner=two_shot,outer=ring,ring" --placement in \
    --begin 8M --end 32M --factor 2 --rounds 7 --iterations 7 --timeout 60s --format json >"$report"
  table
done
