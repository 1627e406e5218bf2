#!/usr/bin/env bash
# How much of train.minutes a run uses while another process takes the machine's processors for half of it.
#
#   tests/busy_minutes.sh [BRIGHTNET [MINUTES [BUSY]]]    BRIGHTNET: the program, looked for in $PATH if not given; MINUTES:
#                                                         of the run, 1 if not given; BUSY: processes that compute from a
#                                                         quarter to three quarters of it, one a processor if not given
#
# Prints the share of the minutes that the run used, and fails below 92 % or above 100 %.
set -euo pipefail

program=${1:-brightnet}
minutes=${2:-1}
busy=${3:-$(nproc)}
[[ $program == */* ]] && program=$(realpath "$program")
folder=$(mktemp -d "${TEST_TMPDIR:-${TMPDIR:-/tmp}}/busy.XXXXXX")
others=()
finish() {
  ((${#others[@]} == 0)) || kill "${others[@]}" 2>/dev/null || true
  rm -rf "$folder"
}
trap finish EXIT
cd "$folder"
seconds() { date +%s.%N; }
part_of_run() { awk -v m="$minutes" -v p="$1" 'BEGIN { print 60 * m * p }'; }

"$program" data synth shapes --train 64 --val 16 --size 96 --classes 3 --seed 1 >/dev/null 2>&1
"$program" train --model demo --data shapes/data.yaml --size 96 --batch 8 --out run --device cpu --precision fp32 \
  --set train.minutes="$minutes" >said.txt 2>&1 &
run=$!
until grep -q "^Training in" said.txt; do
  kill -0 $run 2>/dev/null || { cat said.txt; exit 1; }
  sleep 0.05
done
began=$(seconds)
sleep "$(part_of_run 0.25)"
for ((i = 0; i < busy; ++i)); do
  (while :; do :; done) &
  others+=($!)
done
sleep "$(part_of_run 0.5)"
((${#others[@]} == 0)) || kill "${others[@]}"
others=()
wait $run
awk -v m="$minutes" -v began="$began" -v ended="$(seconds)" -v busy="$busy" 'BEGIN {
  share = 100 * (ended - began) / (60 * m)
  printf "%.1f %% of %g minutes used, beside %d busy processes in the middle half\n", share, m, busy
  exit !(share >= 92 && share <= 100)
}'
