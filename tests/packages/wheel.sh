#!/usr/bin/env bash
# wheel.sh BUILD SCRATCH: the package that pip installs, without building one: what is in it, where it may lie, and its version.
set -euo pipefail
unset CDPATH  # where cd would look first
build=$1 scratch=$2
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
fail() { echo "wheel: $*" >&2; exit 1; }
ls "$build"/python/_brightnet*.so >/dev/null 2>&1 || { echo "skipped: this build has no Python module"; exit 77; }

"$root/scripts/package" wheel --help | grep -q -- --cuda-arch || fail "scripts/package wheel has no help"
! "$root/scripts/package" wheel --no-such-option >/dev/null 2>&1 || fail "it takes any option"

# One version: scikit-build-core reads CMakeLists.txt by this expression.
version=$(sed -n 's/^project(brightnet VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")
python3 - "$root" "$version" <<'CHECK'
import pathlib, re, sys
root, version = pathlib.Path(sys.argv[1]), sys.argv[2]
regex = re.search(r"^regex = '(.*)'$", (root / "pyproject.toml").read_text(), re.M)[1]
read = re.search(regex, (root / "CMakeLists.txt").read_text(), re.M)["value"]
sys.exit(None if read == version else f"wheel: pyproject.toml reads version '{read}', not {version}")
CHECK

# Where pip puts it, the program finds its models, whatever links lead to it, and needs neither MPI nor CUDA to start.
packages=$scratch/lib/python3.11/site-packages
rm -rf "$scratch"
mkdir -p "$packages" "$scratch/elsewhere"
cmake --install "$build" --component python --prefix "$packages" >"$scratch/install.log" 2>&1 ||
  { cat "$scratch/install.log" >&2; fail "it was not installed"; }
ln -s "$packages/brightnet/bin/brightnet" "$scratch/elsewhere/brightnet"
cd "$scratch/elsewhere"
./brightnet memory yolov4-tiny --batch 1 >said.txt 2>&1 || fail "the program does not find its models: $(cat said.txt)"
for file in "$packages"/brightnet/bin/brightnet "$packages"/brightnet/lib/libbrightnet.so.*.*; do
  ! ldd "$file" | grep -qE 'libmpi|libcuda|libcudnn|libnccl' || fail "$file needs MPI or CUDA to start"
done
