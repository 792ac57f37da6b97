#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What only a real GPU can show, in at most ten minutes: see tools/gpu_check.py, which does the work.
set -euo pipefail

usage() {
  cat <<'END'
usage: tools/gpu_check.sh [--build DIR] [--output DIR] [--minutes N] [--steps NAME,...] [--list]

Builds what it needs (unless --build names a build that has it), then checks on the GPUs here:
that the test double of the CUDA runtime is like the real one, that kernels and executor give the
bits of the host, and how fast they are. Writes DIR/gpu_check.json and prints a short table.
  --build DIR    use this build (default: build/release, built first)
  --output DIR   where the results go (default: bench/results)
  --minutes N    at most so long in all (default: 10); the most valuable steps come first
  --steps ...    only these
  --list         the steps, and what each is for
END
}

build='' lists=no arguments=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --build)
      [[ $# -ge 2 ]] || { echo "tools/gpu_check.sh: --build needs a folder" >&2 && exit 2; }
      build=$2
      shift
      ;;
    -h | --help) usage && exit 0 ;;
    *)
      [[ $1 != --list ]] || lists=yes
      arguments+=("$1")
      ;;
  esac
  shift
done

if [[ -z $build && $lists == no ]]; then
  # shellcheck source=tools/lib.sh
  source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
  install_packages test
  configure release -DRINGSIDE_TESTS=ON
  build release ringside_programs tests_gpu micro_device_fold micro_device_all_reduce
fi
exec python3 "$(dirname "${BASH_SOURCE[0]}")/gpu_check.py" --build "${build:-build/release}" "${arguments[@]}"
