#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Our host collectives beside Open MPI, MPICH, Gloo and loops written by hand, in interleaved rounds.
set -euo pipefail

usage() {
  cat <<'END'
usage: bench/compare_host.sh [--quick | --minutes N] [--collectives LIST] [--program FILE]
                             [--output DIR]
       bench/compare_host.sh --tables DIR

Measures for about 25 minutes and prints the ratios (time of the other / time of ours) by collective,
ranks, size and placement, their geometric means, and how far the goals are kept.
  --quick             about 3 minutes: fewer sizes
  --minutes N         about N minutes: passes over all pieces until then, at least one
  --collectives LIST  also these beside the libraries, such as all_gather,broadcast, or all
  --program FILE      the ringside program (build/release/bin/ringside)
  --output DIR        keep the reports there (default: a temporary folder); those that are there
                      already are added to
  --tables DIR        measure nothing: the tables of earlier reports
END
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tables="$root/bench/compare_host.py"
program=$root/build/release/bin/ringside
quick=no minutes=25 collectives='' output=''
while [[ $# -gt 0 ]]; do
  case $1 in
    --quick) quick=yes minutes=3 ;;
    --minutes | --collectives | --program | --output | --tables)
      [[ $# -ge 2 ]] || { echo "bench/compare_host.sh: $1 needs a value" >&2 && exit 2; }
      case $1 in
        --minutes) minutes=$2 ;;
        --collectives) collectives=$2 ;;
        --program) program=$2 ;;
        --output) output=$2 ;;
        --tables) exec python3 "$tables" "$2" ;;
      esac
      shift
      ;;
    -h | --help) usage && exit 0 ;;
    *) echo "bench/compare_host.sh: unknown argument $1 (see --help)" >&2 && exit 2 ;;
  esac
  shift
done
[[ $minutes =~ ^[1-9][0-9]*$ ]] || { echo "bench/compare_host.sh: --minutes: not a number: $minutes" >&2 && exit 2; }
[[ -x $program ]] || { echo "bench/compare_host.sh: no program $program; build it (tools/test.sh) or name it (--program)" >&2 && exit 2; }

if [[ -z $output ]]; then
  output=$(mktemp -d)
  trap 'rm -rf "$output"' EXIT
fi
mkdir -p "$output"

# piece NAME ARGUMENT...: one report, NAME-PASS.json. What cannot be measured here (no memory, a
# library that is not installed) is said, and the rest goes on.
piece() {
  local name=$1 start=$SECONDS report
  shift
  report=$output/$name-$pass.json
  if "$program" bench --format json "$@" >"$report.part" 2>"$report.log"; then
    mv "$report.part" "$report"
  else
    echo "$name: not measured: $(head -n 1 "$report.log")" >&2
  fi
  rm -f "$report.part" "$report.log"
  echo "  $((SECONDS - start)) s  $name" >&2
}

libraries=(openmpi openmpi-tuned openmpi-nocma mpich gloo)
loops=baseline:stream,baseline:stream-nt,baseline:fused,baseline:fused-nt
by_hand=baseline:ring,baseline:two_shot,baseline:two_shot-nt

# The pieces of a pass. With large messages one library at a time: each keeps buffers of its own.
# Two numbers of ranks are two pieces, so that a refusal of one leaves the other.
measure_all() {
  local n library small large
  if [[ $quick == yes ]]; then
    small=(--begin 8 --end 2M --factor 16 --time 30ms --rounds 5)
    large=(--begin 32M --end 32M --factor 4 --placement in --time 60ms --rounds 3)
  else
    small=(--begin 8 --end 8M --factor 4 --time 60ms --rounds 6)
    large=(--begin 32M --end 256M --factor 8 --time 100ms --rounds 5)
  fi
  for n in 2 4 8; do
    piece "peers-$n" --ranks "$n" --algorithm auto --compare all "${small[@]}"
  done
  piece rewritten-2 --ranks 2 --algorithm auto --compare openmpi --buffers rewritten \
    --begin 8K --end 8M --factor 4 --time 60ms --rounds 6
  piece plans-2 --ranks 2 --algorithm ring,two_shot --compare "$by_hand" --set inline=0 \
    --begin 8 --end 8M --factor 4 --time 60ms --rounds 6
  piece plans-4 --ranks 4 --algorithm ring,two_shot --compare "$by_hand" --set inline=0 \
    --begin 32K --end 8M --factor 4 --time 60ms --rounds 6
  for n in 2 4 8; do
    piece "limit-$n" --ranks "$n" --algorithm auto --compare "$loops" \
      --begin 2M --end 32M --factor 4 --time 60ms --rounds 5
    for library in "${libraries[@]}"; do
      [[ $library == mpich && $n -gt $(nproc) ]] && continue
      [[ $quick == yes && $n -eq 8 ]] && continue
      piece "peers-$n-large-$library" --ranks "$n" --algorithm auto --compare "$library" "${large[@]}"
    done
    [[ $quick == yes ]] || piece "limit-$n-large" --ranks "$n" --algorithm auto --compare "$loops" \
      --begin 256M --end 256M --factor 2 --time 100ms --rounds 5
  done
  if [[ -n $collectives ]]; then
    for n in 2 4; do
      piece "peers-$n-collectives" --collective "$collectives" --ranks "$n" --algorithm auto \
        --compare all --begin 64 --end 4M --factor 16 --time 30ms --rounds 5
    done
  fi
}

pass=1
while [[ -n $(compgen -G "$output/*-$pass.json") ]]; do pass=$((pass + 1)); done
while :; do
  echo "pass $pass, $((SECONDS / 60)) of about $minutes minutes" >&2
  before=$SECONDS
  measure_all
  pass=$((pass + 1))
  # Another one if more than half of it fits.
  ((SECONDS + (SECONDS - before) / 2 < minutes * 60)) || break
done
python3 "$tables" "$output"
