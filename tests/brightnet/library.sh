#!/usr/bin/env bash
# library.sh BUILD SCRATCH: installs the build and uses its library as other programs do: headers, exported names, CMake
# package, pkg-config file, and the two programs in programs/.
set -euo pipefail
unset CDPATH  # where cd would look first
build=$1 scratch=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
compiler=${CXX:-c++}
fail() { echo "library: $*" >&2; exit 1; }
step() { echo "library: $*"; }

rm -rf "$scratch"
mkdir -p "$scratch"
cd "$scratch"
cmake --install "$build" --prefix "$scratch/first" >install.log 2>&1 || { cat install.log >&2; fail "it was not installed"; }
mv first prefix  # an installation can be moved
brightnet=$scratch/prefix/bin/brightnet
library=$(find prefix -name 'libbrightnet.so' | head -1)
[[ -n $library ]] || fail "there is no libbrightnet.so"
folder=$scratch/$(dirname "$library")

step "each header stands by itself"
for header in prefix/include/brightnet/*.h; do
  echo "#include <brightnet/$(basename "$header")>" |
    "$compiler" -std=c++20 -Wall -Wextra -Werror -Iprefix/include -fsyntax-only -x c++ -
done

step "the examples of the headers and of docs/library.md compile"
{
  echo '#include <cstdint>'
  for header in prefix/include/brightnet/*.h; do echo "#include <brightnet/$(basename "$header")>"; done
  echo 'template <typename... T> void use(const T&...) {}'
  echo 'void examples(const uint8_t* pixels, int height, int width) {'
  # In a header "//   code" of its first comment; "…" stands for a statement.
  for header in prefix/include/brightnet/*.h; do echo '{' && sed -n 's|^//   \(.*\)|\1|p' "$header" && echo '}'; done
  awk '/^```cpp$/ { inside = 1; print "{"; next }
       /^```$/ { if (inside) print "}"; inside = 0; next }
       inside && !/^#include/' "$here/../../docs/library.md"
  echo '}'
} | sed 's/…/;/' >examples.cpp
[[ $(grep -c 'detector.detect(' examples.cpp) -ge 2 ]] || fail "examples.cpp lacks the examples"
"$compiler" -std=c++20 -Wall -Wextra -Werror -Wno-unused-variable -Wno-unused-function -Iprefix/include -fsyntax-only examples.cpp ||
  fail "an example does not compile"

step "nothing but the public interface is exported"
nm -D --defined-only -C "$library" | cut -d' ' -f3- >exported.txt
strangers=$(grep -vE '^(typeinfo( name)? for |vtable for )?brightnet::[A-Z]?[A-Za-z_:~]+' exported.txt || true)
[[ -z $strangers ]] || fail "exported as well: ${strangers:0:300}"
# One from each floor: nothing in the library calls those of the rooms.
for name in train detect_files search_values import_network make_synthetic_dataset check_answer_file; do
  grep -q "brightnet::$name(" exported.txt || fail "$name() is not exported"
done
if grep -qE 'brightnet::(Trainer|Network|load_run_config)' exported.txt; then fail "internals are exported"; fi

step "programs find it by CMake and by pkg-config"
cmake -S "$here/programs" -B programs -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_CXX_COMPILER="$compiler" \
  >programs.log 2>&1 && cmake --build programs >>programs.log 2>&1 ||
  { cat programs.log >&2; fail "the programs were not built"; }
if command -v pkg-config >/dev/null; then
  line=$(grep -m1 '^g++ .*pkg-config' "$here/../../docs/library.md") || fail "docs/library.md has no line with pkg-config"
  (mkdir by_pkg_config && cd by_pkg_config && cp "$here/programs/service.cpp" . &&
    export PKG_CONFIG_PATH=$folder/pkgconfig && eval "\"$compiler\" ${line#g++ }") || fail "this of docs/library.md fails: $line"
else
  step "skipped: there is no pkg-config"
fi

step "one trains, is stopped by its observer, resumes and evaluates"
"$brightnet" data synth set --train 12 --val 4 --size 96 --seed 5 >synth.log 2>&1 || { cat synth.log >&2; fail "no data"; }
# The loader may name the library through a link, as Debian's /lib is one; the models are found from its real place.
mkdir linked && ln -s "$folder" linked/lib
said=$(LD_PRELOAD=$PWD/linked/lib/libbrightnet.so programs/training set run 2>&1) || fail "$said"
[[ $said == ok ]] || fail "the library printed: $said"

step "one detects in a buffer from two threads what the program detects in the file"
{ printf 'P6\n96 96\n255\n'; awk 'BEGIN { for (i = 0; i < 27648; i++) printf "%c", 33 + (7 * i + 13 * int(i / 96)) % 90 }'; } >image.ppm
[[ $(wc -c <image.ppm) -eq 27661 ]] || fail "image.ppm has $(wc -c <image.ppm) bytes"
programs/service run/weights/last.safetensors image.ppm >by_service.txt || fail "the service failed"
if [[ -d by_pkg_config ]]; then
  by_pkg_config/a.out run/weights/last.safetensors image.ppm | cmp - by_service.txt || fail "compiled by pkg-config's line it does not do the same"
fi
"$brightnet" detect --weights run/weights/last.safetensors --source image.ppm --conf 0.01 --device cpu --no-save \
  --json found.json >detect.log 2>&1 || { cat detect.log >&2; fail "detect failed"; }
grep -oE '"score": *[0-9.e-]+' found.json | sed 's/.*: *//' | awk '{printf "%.5f\n", $1}' >by_program.txt
[[ -s by_program.txt ]] || fail "the program found nothing, so that nothing is compared"
awk '{print $2}' by_service.txt | diff - by_program.txt >difference.txt ||
  fail "the scores differ: $(head -5 difference.txt)"
step "done"
