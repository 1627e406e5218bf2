#!/usr/bin/env bash
# suites.sh ROOT SCRATCH: tests/discover_suites.cmake leaves out no suite where parameters have what parts or joins CMake's
# lists, and fails where a program does; scripts/test counts the cases that ctest ran.
set -euo pipefail
root=$1 scratch=$2
fail() { echo "suites: $*" >&2; exit 1; }

rm -rf "$scratch"
mkdir -p "$scratch"
cd "$scratch"
discover() {
  cmake -D "PROGRAM=$PWD/tests" -D "OUTPUT=$PWD/suites.cmake" -D PREFIX=floor. -D "FILTER=$1" -D "PROPERTIES=LABELS floor" \
    -P "$root/tests/discover_suites.cmake"
}
cat >tests <<'PROGRAM'
#!/bin/sh
cat <<LIST
Running main() from gtest_main.cc
First.
  Case
Typed/0.  # TypeParam = std::array<float [2]>
  Case
Every/Kind.
  Case/0  # GetParam() = "[1; 2"
  Case/1  # GetParam() = "a\\"
Last.
  Case
LIST
PROGRAM
chmod +x tests
discover '-Slow*'
names=$(sed -n 's/^add_test(\[=\[\([^]]*\)\].*/\1/p' suites.cmake | tr '\n' ' ')
[[ $names == "floor.First floor.Typed/0 floor.Every/Kind floor.Last " ]] || fail "discovered: $names"
discover 'Every/Kind.*:Last.*'
grep -qF -- '--gtest_filter=Every/Kind.Case/0:Every/Kind.Case/1]' suites.cmake || fail "the cases of a filter are not chosen"

printf '#!/bin/sh\necho First.\nkill -SEGV $$\n' >tests
discover '-Slow*' >said 2>&1 && fail "a program that crashes was taken for one without tests"
tr -s ' \n' ' ' <said | grep -q 'does not list its tests' || fail "a program that crashes: $(cat said)"

mkdir -p tree/scripts tree/build/release/Testing/Temporary bin
cp "$root/scripts/test" tree/scripts/
printf '#!/bin/sh\n' >tree/scripts/setup
cp tree/scripts/setup tree/scripts/build
cp tree/scripts/setup bin/nvidia-smi
cat >bin/ctest <<'PROGRAM'
#!/bin/sh
cat >build/release/Testing/Temporary/LastTest.log <<LOG
[ RUN      ] First.Case
[       OK ] First.Case (0 ms)
[ RUN      ] First.Other
[  SKIPPED ] First.Other (0 ms)
[  PASSED  ] 1 test.
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] First.Other
<end of output>
[ RUN      ] Last.Case
Segmentation fault
LOG
exit 8
PROGRAM
chmod +x tree/scripts/* bin/*
code=0
PATH=$PWD/bin:$PATH tree/scripts/test >said || code=$?
((code == 8)) || fail "scripts/test ended with $code, and ctest with 8"
[[ $(tail -n 2 said) == "Google Test: 1 cases passed, 0 failed, 1 unknown, 1 skipped:"$'\n\t'First.Other ]] || fail "it said: $(cat said)"
echo "suites: done"
