#!/usr/bin/env bash
# What action.yml runs: `lab compare` with the inputs of the environment; its exit code is the step's.
# Needs Python 3.11, a JDK 25 with Maven and Rust. LAB names another `lab` than the one that is set up here.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
if [[ -z "${LAB:-}" ]]; then
  make -C "$root" --no-print-directory .venv/ready
  LAB="$root/.venv/bin/lab"
fi

arguments=(--target "$INPUT_TARGET" --baseline "$INPUT_BASELINE" --inconclusive "$INPUT_INCONCLUSIVE")
arguments+=(--minutes "$INPUT_MINUTES" --size "$INPUT_SIZE" --markdown "$INPUT_COMMENT")
while IFS= read -r limit; do
  if [[ -n "${limit//[[:space:]]/}" ]]; then
    arguments+=(--fail-on "$limit")
  fi
done <<<"$INPUT_LIMITS"

code=0
"$LAB" compare "${arguments[@]}" || code=$?

if [[ "$INPUT_COMMENT" == *$'\n'* ]]; then
  echo "the name of the comment's file has a line break" >&2
  exit 2
fi
{
  echo "exit-code=$code"
  echo "comment=$INPUT_COMMENT"
} >>"${GITHUB_OUTPUT:-/dev/null}"
if [[ -f "$INPUT_COMMENT" ]]; then
  cat -- "$INPUT_COMMENT" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
fi
exit "$code"
