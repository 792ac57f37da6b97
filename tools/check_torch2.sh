#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds the trainer against a libtorch of the Python package index, and runs the trainer's tests with it.
set -euo pipefail

usage() {
  cat <<'END_OF_USAGE'
usage: tools/check_torch2.sh [VERSION] [-- CTEST-ARGUMENT...]

Makes a virtual environment in build/torch2-venv, installs torch (VERSION, default: the newest) without what
only Python needs, builds the trainer against it in build/torch2, and runs the trainer's tests. Of NVIDIA's
packages, which the wheels for x86 name, come only those that libtorch's CPU half is linked with.
Takes some GB and the network; no part of what a commit must pass.
END_OF_USAGE
}

version="" ctest_arguments=()
while [[ $# -gt 0 ]]; do
  case $1 in
    -h | --help) usage && exit 0 ;;
    --)
      shift
      ctest_arguments=("$@")
      break
      ;;
    [0-9]*) version="==$1" ;;
    *) echo "tools/check_torch2.sh: unknown argument $1 (see --help)" >&2 && exit 2 ;;
  esac
  shift
done

# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

folder=$PWD/build/torch2
venv=$PWD/build/torch2-venv

# The wheel alone: what it depends on serves its Python half and its GPUs.
install_torch() {
  [[ -x $venv/bin/python ]] || python3 -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --no-deps --no-compile --no-cache-dir "torch$version"
  wheel=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/torch
}

# What of CUDA the CPU half is linked with, by the names of pip's packages; at the versions that torch pins:
# cuda-toolkit[cupti]==13.2.2 of a new wheel, nvidia-cuda-cupti-cu12==12.8.90 of an older one.
install_cuda_libraries() {
  local library part name requirement metadata
  metadata=("$wheel"/../torch-*.dist-info/METADATA)
  for library in $(readelf -d "$wheel/lib/libtorch_cpu.so" | sed -n 's/.*(NEEDED).*\[\(libcu[^]]*\)\]/\1/p'); do
    case $library in
      libcudart.*) part=cudart name=cuda-runtime ;;
      libcupti.*) part=cupti name=cuda-cupti ;;
      *) echo "no package known for $library" >&2 && return 1 ;;
    esac
    requirement=$(sed -n -e "s/^Requires-Dist: cuda-toolkit\[.*\b$part\b.*\]\(==[0-9.]*\).*/cuda-toolkit[$part]\1/p" \
      -e "s/^Requires-Dist: \(nvidia-$name-cu[0-9]*==[0-9.]*\).*/\1/p" "${metadata[0]}" | head -n 1)
    [[ -n $requirement ]] || { echo "torch names no package for $library" >&2 && return 1; }
    echo "$library: $requirement"
    "$venv/bin/python" -m pip install --quiet --no-compile --no-cache-dir "$requirement"
  done
}

build_trainer() {
  local log=$folder/configure.log
  cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release -DRINGSIDE_TESTS=ON -DRINGSIDE_TRAINER=ON \
    -DRINGSIDE_TORCH_WHEEL="$wheel" >"$log" || { cat "$log" && return 1; }
  grep '^-- Ringside' "$log"
  nice -n 10 ninja -C "$folder" -j "$(job_count)" --quiet trainer_torch trainer_training trainer_parts
}

run_tests() {
  ctest --test-dir "$folder" -R '^trainer_(torch|training|parts)$' --output-on-failure "${ctest_arguments[@]}"
}

mkdir -p "$folder"
phase "install torch" install_torch
phase "what of CUDA it is linked with" install_cuda_libraries
phase "build" build_trainer
phase "tests" run_tests
print_phases
