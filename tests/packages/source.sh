#!/usr/bin/env bash
# source.sh ROOT SCRATCH: the tarball of a clone has what is committed, the same bytes twice, and nothing else.
set -euo pipefail
root=$1 scratch=$2
fail() { echo "source: $*" >&2; exit 1; }
git -C "$root" rev-parse --git-dir >/dev/null 2>&1 || { echo "skipped: this tree is no git clone"; exit 77; }

rm -rf "$scratch"
mkdir -p "$scratch"
cd "$scratch"
git clone -q --depth 1 "file://$root" clone
for name in first second; do clone/scripts/package source --out "$name" >said.txt; done
tarball=$(cat said.txt)
cmp "first/${tarball##*/}" "$tarball" || fail "packed a second time it is another file"
tar -tf "$tarball" | grep -v '/$' | sed 's|^[^/]*/||' | sort >packed.txt
git -C clone ls-files | sort | diff - packed.txt || fail "it has other files than the commit"
echo new >clone/new
if clone/scripts/package source >said.txt 2>&1; then fail "what is not committed was left out without a word"; fi
grep -q 'new' said.txt || fail "it does not say what is not committed: $(cat said.txt)"
