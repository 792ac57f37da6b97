#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Makes the API reference, from the headers that a program includes. Wrong comments are errors.
set -euo pipefail

usage() {
  cat <<'END'
usage: tools/api_docs.sh [--output DIR]

Makes HTML of ringside.hpp, ringside.h, ringside_algorithm.h and all of ours that they include. Needs doxygen
(Debian's package of that name); takes some seconds.
  --output DIR   where (default: build/api); the first page is DIR/html/index.html
END
}

output=build/api
while [[ $# -gt 0 ]]; do
  case $1 in
    --output)
      [[ $# -ge 2 ]] || { echo "tools/api_docs.sh: --output needs a folder" >&2 && exit 2; }
      output=$(realpath -m "$2")
      shift
      ;;
    -h | --help) usage && exit 0 ;;
    *) echo "tools/api_docs.sh: unknown argument $1 (see --help)" >&2 && exit 2 ;;
  esac
  shift
done
cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v doxygen >/dev/null || { echo "tools/api_docs.sh: doxygen is not installed" >&2 && exit 2; }

# The headers, and what they include of ours, to the end.
headers() {
  local header included
  local -A known=()
  local waiting=(ringside.hpp ringside.h ringside_algorithm.h)
  while [[ ${#waiting[@]} -gt 0 ]]; do
    header=${waiting[0]}
    waiting=("${waiting[@]:1}")
    [[ -z ${known[$header]:-} ]] || continue
    known[$header]=yes
    echo "$header"
    while read -r included; do waiting+=("$included"); done < <(sed -n 's|^#include "ringside/\(.*\)".*|\1|p' "$header")
  done
}

mkdir -p "$output"
{
  cat tools/docs/Doxyfile
  echo "OUTPUT_DIRECTORY = \"$output\""
  echo "INPUT = tools/docs/api_main.md $(headers | tr '\n' ' ')"
  echo "USE_MDFILE_AS_MAINPAGE = tools/docs/api_main.md"
} >"$output/Doxyfile"
doxygen "$output/Doxyfile"
echo "$output/html/index.html"
