#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What only a real GPU can show, in at most ten minutes: see tools/gpu_check.py, which does the work.
set -euo pipefail

usage() {
  cat <<'END'
usage: tools/gpu_check.sh [--build DIR] [--output DIR] [--minutes N] [--steps NAME,...] [--list]

Checks on the GPUs here that the test double of the CUDA runtime is like the real one, that kernels
and executor give the bits of the host, and how fast they are. Writes DIR/DATE-gpu-NAME.json, prints
a short table. Before that it installs the Debian packages that are missing (as root or by sudo) and
builds build/release, which takes minutes; with --build it does neither.
  --build DIR    use this build, which has the tests and programs
  --output DIR   where the results go (default: bench/results)
  --minutes N    at most so long in all, without building (default: 10); the most valuable steps
                 come first
  --steps ...    only these
  --list         the steps (or those of --steps), and what each is for; needs no GPU

Exit code 0: all that ran is right. 1: a finding, or the build failed. 2: wrong usage, or there is
no GPU; both are found before anything is installed. GPU_CHECK_COMMIT names the commit where the
tree was copied without its history.
END
}

refuse() {
  echo "tools/gpu_check.sh: $1" >&2
  exit 2
}

here=$(dirname "${BASH_SOURCE[0]}")
build='' lists=no arguments=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --build)
      [[ $# -ge 2 ]] || refuse "--build needs a folder (see --help)"
      build=$2
      arguments+=(--build "$2")
      shift
      ;;
    --build=*)
      build=${1#*=}
      arguments+=("$1")
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
  # Mistakes, and a machine without a GPU, are found before anything is installed or built.
  if command -v python3 >/dev/null; then
    python3 "$here/gpu_check.py" --only-usage "${arguments[@]}"
  else
    [[ $(nvidia-smi --list-gpus 2>/dev/null) == *GPU* ]] || refuse "no GPU: nvidia-smi finds none"
  fi
  (
    # shellcheck source=tools/lib.sh
    source "$here/lib.sh"
    install_packages test
    configure release -DRINGSIDE_TESTS=ON
    build release ringside_programs tests_gpu micro_device_fold micro_device_all_reduce
  )
fi
exec python3 "$here/gpu_check.py" "${arguments[@]}"
