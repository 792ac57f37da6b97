#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Lints C++ sources with the profile in .clang-tidy, by the flags of the configured release build.
set -euo pipefail

usage="usage: tools/tidy.sh --all | --changed [MOST] | FILE...

  --all             every source that the release build compiles (some 8 s of a processor each)
  --changed [MOST]  the sources that this branch touches, or of the last commit; of more than MOST
                    as many, spread evenly
  FILE...           these; for a header the source beside it

Findings go to stdout. Exit 0 (clean), 1 (findings) or 2 (usage)."

# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

commands=build/release/compile_commands.json

# The C++ files that this change touches: since it left the main branch, else of the last commit.
changed_files() {
  local base
  base=$(git merge-base HEAD origin/main 2>/dev/null || true)
  if [[ -z $base || $base == $(git rev-parse HEAD) ]]; then
    base=$(git rev-parse --verify --quiet HEAD~1 || git hash-object -t tree /dev/null)
  fi
  git diff --name-only --diff-filter=d "$base" -- '*.cpp' '*.hpp'
}

# Of the files on stdin the sources, for a header the source beside it, that the build compiles:
# clang-tidy has no flags for the rest.
sources_of() {
  local file
  while read -r file; do
    # Clang does not know all flags by which g++ makes kernels.
    [[ $file == tests/fakecuda/kernels/* ]] && continue
    file=${file%.hpp}
    file=${file%.cpp}.cpp
    if grep -qF "/$file\"" "$commands"; then echo "$file"; fi
  done | sort -u
}

# Lints one source. The count of suppressed warnings of other people's headers is no finding.
lint() {
  local source=$1 before=()
  if [[ $source == trainer/torch/* ]]; then
    before=(--extra-arg=-include --extra-arg="$PWD/tools/tidy/libtorch.hpp")
  fi
  echo "  $source" >&2
  clang-tidy -p build/release --quiet "${before[@]}" "$source" 2> >(grep -v 'warnings\? generated' >&2 || true)
}
export -f lint

chosen() {
  case $1 in
    --all) git ls-files -- '*.cpp' ;;
    --changed) changed_files ;;
    *) printf '%s\n' "$@" ;;
  esac
}

case ${1:-} in
  -h | --help) echo "$usage" && exit 0 ;;
  --all | --changed) ;;
  '' | -*) echo "$usage" >&2 && exit 2 ;;
esac
if [[ ! -f $commands ]]; then
  echo "tools/tidy.sh: $commands is missing; 'cmake --preset release' makes it" >&2
  exit 2
fi
mapfile -t sources < <(chosen "$@" | sources_of)
[[ ${#sources[@]} -gt 0 ]] || { echo "no source to lint" && exit 0; }

if [[ $1 == --changed && ${#sources[@]} -gt ${2:-1000000} ]]; then
  echo "linting $2 of ${#sources[@]} changed sources, spread evenly"
  mapfile -t sources < <(printf '%s\n' "${sources[@]}" |
    awk -v n="${#sources[@]}" -v k="$2" 'int(NR * k / n) > int((NR - 1) * k / n)')
fi
printf '%s\0' "${sources[@]}" | xargs -0 -P "$(nproc)" -I{} bash -c 'lint "$1"' lint {} || exit 1
