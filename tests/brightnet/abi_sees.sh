#!/usr/bin/env bash
# abi_sees.sh ROOT LIBRARY SCRATCH: scripts/abi names each change that breaks programs which were compiled before.
set -euo pipefail
root=$1 library=$2 scratch=$3
fail() { echo "abi_sees: $*" >&2; exit 1; }
rm -rf "$scratch"
mkdir -p "$scratch/tree"
"$root/scripts/abi" "$library" --record "$scratch/recorded.txt"
said=$("$root/scripts/abi" "$library" --check "$scratch/recorded.txt") || fail "nothing has changed: $said"

cp -r "$root/brightnet" "$scratch/tree"
changed() {  # FILE SED: changes a header
  sed -i "$2" "$scratch/tree/brightnet/$1"
  ! cmp -s "$root/brightnet/$1" "$scratch/tree/brightnet/$1" || fail "$1 was not changed by $2"
}
changed detector.h 's/^  int height = 0, width = 0;$/  int depth = 0, height = 0, width = 0;/'
changed weights.h 's/^class BRIGHTNET_PUBLIC Weights {/class BRIGHTNET_PUBLIC Weights {\n  int added_ = 0;/'
changed train.h 's/^  virtual void step(/  virtual void added();\n  virtual void step(/'
changed train.h 's/^  no_better,.*/  better, no_better,/'
echo "function brightnet::forgotten()" >>"$scratch/recorded.txt"
if said=$("$root/scripts/abi" "$library" --tree "$scratch/tree" --check "$scratch/recorded.txt"); then fail "nothing is seen"; fi
for gone in "member brightnet::Image::height at 8: int" "type brightnet::Weights: 16 bytes" \
  "virtual brightnet::RunObserver::step at 3" "enum brightnet::TrainingOutcome::stopped = 2" "function brightnet::forgotten()"; do
  grep -qF "gone or changed: $gone" <<<"$said" || fail "not seen: $gone; it says: $said"
done
