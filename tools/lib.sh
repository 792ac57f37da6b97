# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What the scripts share: the package list, installing what is missing, configuring, building,
# timing phases. Sourced after `set -euo pipefail`; leaves the working directory at the root.

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

# Debian packages, by what needs them.
packages_for() {
  local build=(g++ cmake ninja-build libfmt-dev libpugixml-dev nlohmann-json3-dev libcli11-dev zlib1g-dev openmpi-bin libopenmpi-dev libjs-chart.js)
  # SimGrid: the flow engine is compared with it where it is installed.
  # libtorch (with a BLAS: the reference one would come in silently) computes the trainer's models.
  local test=(libgtest-dev libbenchmark-dev libsimgrid-dev python3 libtorch-dev libopenblas0-pthread dataset-fashion-mnist)
  # MPICH and Gloo: the tests of those peers run where they are installed.
  # doxygen: the API reference, whose warnings are errors; Graphviz: a command of the documents.
  local ci=(ccache clang-format clang-tidy git libmpich-dev mpich libgloo-dev doxygen graphviz)
  # The long tests open reports in a browser.
  local full=(libmpich-dev mpich libgloo-dev doxygen graphviz chromium chromium-driver python3-selenium)
  case $1 in
    demo) echo "${build[@]}" ;;
    test) echo "${build[@]}" "${test[@]}" ;;
    ci) echo "${build[@]}" "${test[@]}" "${ci[@]}" ;;
    full) echo "${build[@]}" "${test[@]}" "${full[@]}" ;;
    *) echo "packages_for: demo, test, ci or full" >&2 && return 2 ;;
  esac
}

as_root() {
  if [[ $(id -u) -eq 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    echo "needs root (or sudo): $*" >&2
    return 1
  fi
}

apt_install() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends \
    -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0 "$@"
}

# install_packages demo|test|ci: installs what is missing; touches neither network nor package
# system when nothing is.
install_packages() {
  local wanted missing=() package log
  read -r -a wanted <<<"$(packages_for "$1")"
  if ! command -v dpkg-query >/dev/null; then
    echo "no Debian packages here; assuming these are present: ${wanted[*]}" >&2
    return 0
  fi
  for package in "${wanted[@]}"; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
      missing+=("$package")
  done
  [[ ${#missing[@]} -gt 0 ]] || return 0

  echo "installing: ${missing[*]}"
  log=$(mktemp)
  # The package lists may be absent or stale: fetch them only when the first attempt says so.
  if ! apt_install "${missing[@]}" >"$log" 2>&1; then
    if ! { as_root apt-get update --quiet -o DPkg::Lock::Timeout=600 &&
      apt_install "${missing[@]}"; } >"$log" 2>&1; then
      tail -n 30 "$log" >&2
      rm -f "$log"
      echo "could not install: ${missing[*]}" >&2
      return 1
    fi
  fi
  rm -f "$log"
}

# As many compilers as there are cores, unless memory (about 1.5 GiB each) allows fewer.
job_count() {
  local cores memory_kib by_memory
  cores=$(nproc)
  memory_kib=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo 2>/dev/null || true)
  by_memory=$((${memory_kib:-16777216} / 1572864))
  ((by_memory >= 1)) || by_memory=1
  echo $((by_memory < cores ? by_memory : cores))
}

# configure PRESET [-DNAME=VALUE...]: configures build/PRESET, unless it already is as wanted (ninja
# itself notices changed CMakeLists.txt, but not changed presets or variables).
configure() {
  local preset=$1 folder=build/$1 setting up_to_date=yes log
  shift
  if [[ -f $folder/CMakeCache.txt ]] &&
    ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "$folder/CMakeCache.txt"; then
    rm -rf "$folder" # the tree was moved or copied: nothing in it is valid
  fi
  [[ -f $folder/build.ninja && ! CMakePresets.json -nt $folder/build.ninja ]] || up_to_date=no
  for setting in "$@"; do
    [[ $up_to_date == no ]] || grep -q "^${setting%%=*}:[A-Z]*=${setting#*=}\$" \
      <(sed 's/^/-D/' "$folder/CMakeCache.txt") || up_to_date=no
  done
  [[ $up_to_date == no ]] || return 0
  log=$(mktemp)
  if ! cmake --preset "$preset" "$@" >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    return 1
  fi
  grep '^-- Ringside' "$log" || true
  rm -f "$log"
}

# configure_tests PRESET: with tests, and a shared library. Of a static one each test would hold a
# copy: up to 75 MB each, several GB in all.
configure_tests() {
  configure "$1" -DRINGSIDE_TESTS=ON -DBUILD_SHARED_LIBS=ON
}

# build PRESET [TARGET...]: one line when all is well, the compiler's words when not.
build() {
  local preset=$1
  shift
  ninja -C "build/$preset" -j "$(job_count)" --quiet "$@"
}

# phase NAME COMMAND...: runs it (in this shell) and says how long it took.
phase() {
  local name=$1 start=$SECONDS
  shift
  echo "=== $name"
  "$@"
  phase_summary+=("$(printf '%4d s  %s' $((SECONDS - start)) "$name")")
}
phase_summary=()

print_phases() {
  echo "=== time by phase"
  printf '%s\n' "${phase_summary[@]}"
}
