#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs what is missing, builds, and runs the tests.
set -euo pipefail

usage() {
  cat <<'END'
usage: tools/test.sh [--full] [--preset P] [--no-install] [-- CTEST-ARGUMENT...]

Installs the Debian packages that are missing, builds build/P and runs its tests.
  --full         also the long tests (label full) and those of speed (label perf, run alone);
                 without it the quick ones
  --preset P     release (default), debug, asan, tsan or no-cuda
  --no-install   use what is there
  -- ...         passed to ctest, such as: -- -R collectives
Tests that need a GPU (label gpu) are not run.
END
}

preset=release full=no install=yes ctest_arguments=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --full) full=yes ;;
    --preset)
      [[ $# -ge 2 ]] || { echo "tools/test.sh: --preset needs a name" >&2 && exit 2; }
      preset=$2
      shift
      ;;
    --no-install) install=no ;;
    -h | --help) usage && exit 0 ;;
    --)
      shift
      ctest_arguments=("$@")
      break
      ;;
    *) echo "tools/test.sh: unknown argument $1 (see --help)" >&2 && exit 2 ;;
  esac
  shift
done

# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

packages=test
[[ $full == no ]] || packages=full
[[ $install == no ]] || install_packages "$packages"
configure_tests "$preset"
build "$preset"

labels=quick
if [[ $full == yes ]]; then
  labels='quick|full'
  # Alone, so that nothing disturbs what they measure; and first, so that the last lines are the
  # summary of the others.
  if [[ -z $(ctest --test-dir "build/$preset" -N -L perf | awk '/Total Tests: 0$/') ]]; then
    ctest --test-dir "build/$preset" -L perf --output-on-failure
  fi
fi
ctest --preset "$preset" -L "$labels" -j "$(nproc)" "${ctest_arguments[@]}"
