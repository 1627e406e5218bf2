#!/usr/bin/env bash
# bundle.sh ROOT SCRATCH: scripts/bundle packs a program that loads no OpenCV, and with it the libraries that it loads.
set -euo pipefail
root=$1 scratch=$2
fail() { echo "bundle: $*" >&2; exit 1; }
for tool in xz ldd bash; do
  command -v "$tool" >/dev/null || { echo "Skipped: there is no $tool"; exit 77; }
done

rm -rf "$scratch"
mkdir -p "$scratch"
cd "$scratch"
"$root/scripts/bundle" out.tar.xz "$(command -v bash)" >said 2>&1 || fail "exit code $?: $(cat said)"
tar -tf out.tar.xz >held
for file in bundle/bin/bash bundle/scripts/check_gpu bundle/configs/models/yolov4.yaml; do
  grep -qx "$file" held || fail "there is no $file in it"
done
grep -q "out.tar.xz: .* 1 programs" said || fail "it says something else: $(cat said)"
for script in bundle build_opencv; do
  ! "$root/scripts/$script" --nonsense >said 2>&1 || fail "scripts/$script takes --nonsense"
  grep -q "^Usage: scripts/$script" said || fail "of --nonsense it says: $(cat said)"
done
! "$root/scripts/bundle" out.tar.xz ./none 2>said || fail "it packs a program that there is not"
grep -q "there is no program './none'" said || fail "it says something else: $(cat said)"
