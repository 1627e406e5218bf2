#!/usr/bin/env bash
# goes_on.sh ROOT SCRATCH: scripts/fuzz begins where the last call ended, also where that was killed before it said so.
# What sets up, builds and searches are recorders here.
set -euo pipefail
root=$1 scratch=$2
fail() { echo "fuzz: $*" >&2; exit 1; }

rm -rf "$scratch"
mkdir -p "$scratch"/tree/{scripts,build/asan/tests,build/fuzz}
cd "$scratch/tree"
cp "$root/scripts/fuzz" scripts/
for tool in setup build; do printf '#!/bin/sh\n' >scripts/$tool; done
cat >build/asan/tests/fuzz_program <<PROGRAM
#!/bin/sh
echo "\$1 from \$3" >>"$scratch/calls"
[ ! -e "$scratch/killed" ] || { echo begun; exit 137; }
echo "\$1  10 inputs,  50 % accepted, 0 findings, next \$((\$3 + 10))"
PROGRAM
chmod +x scripts/* build/asan/tests/fuzz_program
fuzz() { scripts/fuzz 0.01 model >said 2>&1; }
begins_at() { [[ $(tail -n 1 "$scratch/calls") == "model from $1" ]] || fail "it begins with: $(tail -n 1 "$scratch/calls")"; }

fuzz || fail "it found something: $(cat said)"
begins_at 0
touch "$scratch/killed"
! fuzz || fail "a search that was killed is no success"
begins_at 10
rm "$scratch/killed"
fuzz || fail "after a search that was killed: $(cat said)"
begins_at 10
: >build/fuzz/model.next  # as it was left once
fuzz || fail "with an empty file: $(cat said)"
begins_at 0
