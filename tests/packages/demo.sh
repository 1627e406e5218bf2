#!/usr/bin/env bash
# demo.sh ROOT SCRATCH: scripts/demo takes a brightnet that is installed and builds nothing then, and builds where it is to.
# The program, and what would set up and build, are recorders here.
set -euo pipefail
root=$1 scratch=$2
fail() { echo "demo: $*" >&2; exit 1; }

rm -rf "$scratch"
mkdir -p "$scratch"/{tree/scripts,tree/build/release,installed}
cd "$scratch"
cp "$root/scripts/demo" tree/scripts/
for tool in setup build; do
  printf '#!/bin/sh\necho "%s $*" >>"%s/calls"\n' "$tool" "$scratch" >tree/scripts/$tool
done
for place in installed tree/build/release; do
  cat >$place/brightnet <<PROGRAM
#!/bin/sh
echo "$place \$*" >>"$scratch/calls"
case "\$*" in
  --version) echo brightnet 1.2.3 ;;
  eval*) echo "{\"AP50\": \${MAP:-0.95}}" >demo/eval.json ;;
esac
PROGRAM
done
chmod +x tree/scripts/* installed/brightnet tree/build/release/brightnet
bare=$(getconf PATH)  # no brightnet of this machine's
installed=$scratch/installed:$bare

demo() { rm -f calls; PATH=$1 tree/scripts/demo "${@:2}" >said 2>&1; }
commands() { printf '%s\n' "$@"; }
calls_are() { diff - <(sed -E 's/^([^ ]+ (data )?[^ ]+).*/\1/; s|^build/release|tree/&|' calls) || fail "it does something else $1"; }
uses() { commands "$1 data synth" "$1 train" "$1 eval" "$1 detect"; }
builds() { commands "setup " "build brightnet"; uses tree/build/release; }

demo "$installed" || fail "with an installed program: $(cat said)"
grep -q "installed/brightnet is installed (brightnet 1.2.3)" said || fail "it does not say which program it takes: $(cat said)"
{ commands "installed --version"; uses installed; } | calls_are "with an installed program"
demo "$bare" || fail "without a program: $(cat said)"
builds | calls_are "without a program"
demo "$installed" --build || fail "--build: $(cat said)"
builds | calls_are "with --build"
demo "$scratch/tree/build/release:$bare" || fail "with this tree's program: $(cat said)"
builds | calls_are "with this tree's program, which may be old"
for words in "--build --help" "--build extra" extra; do
  # shellcheck disable=SC2086
  demo "$installed" $words || [[ $? -eq 2 ]] || fail "$words: $(cat said)"
  grep -q "^Usage: scripts/demo" said || fail "of $words it says: $(cat said)"
  [[ ! -e calls ]] || fail "it begins with $words: $(cat calls)"
done
# A folder `scripts` below a place of CDPATH is somebody else's.
mkdir -p other/scripts other/demo/run
touch other/demo/run/mine
(cd tree && CDPATH=$scratch/other PATH=$installed scripts/demo) >said 2>&1 || fail "with CDPATH: $(cat said)"
[[ -e other/demo/run/mine && ! -e other/demo/eval.json ]] || fail "it works where CDPATH leads"
for script in "$root"/scripts/* "$root"/scripts/packaging/*; do
  [[ -f $script ]] && grep -q '^[^#]*cd "$(dirname' "$script" && head -n 1 "$script" | grep -q bash || continue
  grep -q '^unset CDPATH' "$script" || fail "$script goes where CDPATH leads"
done
! MAP=0.5 demo "$installed" || fail "a network that finds nothing is a success"
