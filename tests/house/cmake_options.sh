#!/usr/bin/env bash
# cmake_options.sh ROOT SCRATCH: a value of CMake's options that is misspelled, or cannot be heeded, is an error; a folder may have a
# comma in its name.
set -euo pipefail
root=$1 scratch=$2
fail() { echo "cmake_options: $*" >&2; exit 1; }

rm -rf "$scratch"
mkdir -p "$scratch"
cd "$scratch"
for type in Relase Optimized; do
  if cmake -S "$root" -B build -DCMAKE_BUILD_TYPE=$type >said.txt 2>&1; then fail "$type was taken for a build type"; fi
  grep -q "CMAKE_BUILD_TYPE is '$type' and must be Release" said.txt || fail "of $type it said: $(cat said.txt)"
  rm -rf build
done

# With a sanitizer there is no module, whatever is installed here.
python() { cmake "-DBRIGHTNET_PYTHON=$1" -DBRIGHTNET_SANITIZE=address -P "$root/scripts/cmake/python.cmake" >said.txt 2>&1; }
for word in ON 1 YES true y; do
  if python $word; then fail "BRIGHTNET_PYTHON=$word was not heeded: $(cat said.txt)"; fi
  grep -q "The Python module was asked for" said.txt || fail "of $word it said: $(cat said.txt)"
done
for word in OFF 0 no AUTO auto; do
  python $word || fail "BRIGHTNET_PYTHON=$word asks for no module: $(cat said.txt)"
done
for word in maybe '' 2; do
  if python "$word"; then fail "BRIGHTNET_PYTHON='$word' was taken"; fi
  grep -q "BRIGHTNET_PYTHON is '$word' and must be AUTO, ON or OFF" said.txt || fail "of '$word' it said: $(cat said.txt)"
done

# A comma parts what is given to the linker in one argument.
cmake -S "$root" -B x,y -DBUILD_TESTING=OFF -DBRIGHTNET_CUDA=OFF -DBRIGHTNET_PYTHON=OFF >said.txt 2>&1 || fail "$(cat said.txt)"
lines=$(grep -rhs --include=build.ninja --include=link.txt whole-archive x,y)
[[ -n $lines ]] || fail "it does not see how the library is linked"
if grep -q -- '-Wl,[^ ]*x,y' <<<"$lines"; then fail "a folder with a comma is torn: $lines"; fi
