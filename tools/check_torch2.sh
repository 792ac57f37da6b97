#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds the trainer against a libtorch of the Python package index, and runs the trainer's tests with it.
set -euo pipefail

usage() {
  cat <<'END_OF_USAGE'
usage: tools/check_torch2.sh [VERSION] [-- CTEST-ARGUMENT...]

Makes a virtual environment in build/torch2/venv, installs torch (VERSION, default: the newest) without what
only Python needs, builds the trainer against it in build/torch2/build, and runs the trainer's tests. Of NVIDIA's
packages, which the wheels for x86 name, come only those that libtorch's CPU half cannot be loaded without.
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
pip=$folder/venv/bin/pip

# The wheel alone: what it depends on serves its Python half and its GPUs.
install_torch() {
  [[ -x $pip ]] || python3 -m venv "$folder/venv"
  "$pip" install --quiet --no-deps --no-cache-dir "torch$version"
  wheel=$("$folder/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/torch
}

# What torch pins of the package that has such a library, by the name that NVIDIA gives it.
requirement_for() {
  local name
  case $1 in
    libcudart.*) name=cuda-runtime ;;
    libcupti.*) name=cuda-cupti ;;
    libnvrtc.*) name=cuda-nvrtc ;;
    libcublas*) name=cublas ;;
    libcudnn*) name=cudnn ;;
    libcusparseLt.*) name=cusparselt ;;
    libnccl.*) name=nccl ;;
    libcufile.*) name=cufile ;;
    *) return 1 ;;
  esac
  sed -n "s/^Requires-Dist: \(nvidia-${name}[-a-z0-9]*\) *(\{0,1\}\(==[0-9.]*\).*/\1\2/p" \
    "$wheel"/../torch-*.dist-info/METADATA | head -n 1
}

# Libraries that libtorch's CPU half needs and nobody here has.
missing_libraries() {
  ldd "$wheel/lib/libtorch_cpu.so" | awk '/not found/ { print $1 }' | sort -u
}

install_missing_libraries() {
  local library requirement
  for library in $(missing_libraries); do
    requirement=$(requirement_for "$library") || true
    [[ -n $requirement ]] || { echo "no package known for $library" >&2 && return 1; }
    echo "$library: $requirement"
    "$pip" install --quiet --no-deps --no-cache-dir "$requirement"
  done
  if [[ -n $(missing_libraries) ]]; then
    echo "still missing: $(missing_libraries | tr '\n' ' ')" >&2
    return 1
  fi
}

build_trainer() {
  cmake -S . -B "$folder/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DRINGSIDE_TORCH_WHEEL="$wheel" -DRINGSIDE_CUDA=OFF \
    -DRINGSIDE_MPI=OFF -DRINGSIDE_PEERS=OFF -DRINGSIDE_TESTS=ON >"$folder/configure.log" || { cat "$folder/configure.log" && return 1; }
  grep '^-- Ringside' "$folder/configure.log"
  nice -n 10 ninja -C "$folder/build" -j "$(job_count)" --quiet trainer_torch trainer_training trainer_parts
}

run_tests() {
  ctest --test-dir "$folder/build" -R '^trainer_(torch|training|parts)$' --output-on-failure "${ctest_arguments[@]}"
}

mkdir -p "$folder"
phase "install torch" install_torch
phase "libraries that it lacks" install_missing_libraries
phase "build" build_trainer
phase "tests" run_tests
print_phases
