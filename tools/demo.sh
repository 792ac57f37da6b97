#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# From an empty clone to a first answer: which all-reduce algorithm is fastest here, and why?
set -euo pipefail

usage() {
  cat <<'END'
usage: tools/demo.sh [--no-install] [-- BENCH-ARGUMENT...]

Installs the Debian packages that are missing, builds the `ringside` program, and sweeps every
all-reduce algorithm on threads of this machine at 2 and 4 ranks, with Open MPI beside it.
  --no-install   use what is there
  -- ...         passed to `ringside bench`, such as: -- --end 1M
END
}

install=yes bench_arguments=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --no-install) install=no ;;
    -h | --help) usage && exit 0 ;;
    --)
      shift
      bench_arguments=("$@")
      break
      ;;
    *) echo "tools/demo.sh: unknown argument $1 (see --help)" >&2 && exit 2 ;;
  esac
  shift
done

# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[[ $install == no ]] || install_packages demo
configure release
build release ringside_programs

# A few seconds in all: small, middle and large messages, and little time at each.
build/release/bin/ringside bench --ranks 2,4 --algorithm all --compare openmpi --summary \
  --begin 64 --end 2M --factor 32 --placement in --time 10ms "${bench_arguments[@]}"

echo
echo "Next: export PATH=\$PWD/build/release/bin:\$PATH, then what README.md shows, or docs/getting-started.md."
