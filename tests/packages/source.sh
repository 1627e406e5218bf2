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
cp "$tarball" kept.tar.gz
if clone/scripts/package source --commit nix --out second >said.txt 2>&1; then fail "a commit that is not there was packed"; fi
grep -q "no commit 'nix'" said.txt || fail "it does not say which commit is not there: $(cat said.txt)"
cmp kept.tar.gz "$tarball" || fail "a mistyped commit cost the earlier tarball"
[[ $(ls -A second) == "${tarball##*/}" ]] || fail "it left something: $(ls -A second)"
(cd clone && sed -i 's/^project(brightnet VERSION [0-9.]*/project(brightnet VERSION 9.8.7/' CMakeLists.txt &&
  git -c user.name=A -c user.email=a@b commit -qam "another version")
[[ $(clone/scripts/package source --commit HEAD~ --out older) == */older/"${tarball##*/}" ]] || fail "an older commit has the version of the newest"
cmp "$tarball" older/* || fail "an older commit is not packed as it was"
echo new >clone/new
if clone/scripts/release --skip-tests --out release >said.txt 2>&1; then fail "a release was made beside what is not committed"; fi
grep -q 'commit these first.*new' said.txt || fail "a release does not say what is not committed: $(cat said.txt)"
if clone/scripts/package source >said.txt 2>&1; then fail "what is not committed was left out without a word"; fi
grep -q 'new' said.txt || fail "it does not say what is not committed: $(cat said.txt)"
