#!/usr/bin/env bash
# out_of_memory.sh BRIGHTNET FAIL_ONCE: an allocation that fails while a command starts is an error that says so, whichever it
# is, and never a crash. FAIL_ONCE: scripts/crashes/fail_once.cpp, which scripts/test_crashes uses for all of every command.
set -euo pipefail
report=$(mktemp "${TEST_TMPDIR:-${TMPDIR:-/tmp}}/allocations.XXXXXX")
trap 'rm -f "$report"' EXIT
command=("$1" memory demo --batch 1 --size 32)
FAIL_REPORT=$report LD_PRELOAD=$2 "${command[@]}" >/dev/null 2>&1
read -r all <"$report"
((all > 1000)) || { echo "only $all allocations were counted"; exit 1; }
refused=0
# The first ones, which are made before the command line is read, and some of the others.
for number in 1 2 10 100 $(seq $((all / 24)) $((all / 24)) "$all"); do
  code=0
  said=$(FAIL_ALLOCATION=$number LD_PRELOAD=$2 "${command[@]}" 2>&1 >/dev/null) || code=$?
  if [[ $code == 2 && $said == *"no more memory"* ]]; then
    refused=$((refused + 1))
  elif [[ $code != 0 ]]; then
    echo "allocation $number of $all: exit code $code: $said"
    exit 1
  fi
done
((refused >= 27)) || { echo "only $refused of 28 failures were noticed"; exit 1; }
