#!/usr/bin/env bash
# deb.sh BUILD SCRATCH: packs a build as Debian packages, twice, and looks into them.
set -euo pipefail
unset CDPATH  # where cd would look first
build=$1 scratch=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
fail() { echo "deb: $*" >&2; exit 1; }
for tool in dpkg-shlibdeps file; do
  command -v $tool >/dev/null || { echo "skipped: there is no $tool"; exit 77; }
done

rm -rf "$scratch"
mkdir -p "$scratch"
export DPKG_DEB_COMPRESSOR_TYPE=gzip DPKG_DEB_COMPRESSOR_LEVEL=1  # the quickest
pack() {
  cpack --config "$build/CPackConfig.cmake" -B "$scratch/$1" >"$scratch/$1.log" 2>&1 || { cat "$scratch/$1.log" >&2; fail "nothing was packed"; }
}
pack first
(export TZ=Asia/Tokyo; umask 077; pack second)
cd "$scratch/first"
for package in *.deb; do
  cmp "$package" "../second/$package" || fail "packed a second time, $package is another file"
  dpkg-deb -c "$package" | awk -v package="${package%%_*}" '$1 !~ /^d/ {print package, $1, $2, substr($6, 2), $7, $8}'
done | sed -E 's/ +$//; s|/lib/[a-z0-9_]+-linux-gnu/|/lib/|; s/[0-9]+\.[0-9]+\.[0-9]+/VERSION/g; s/(so\.|libbrightnet)[0-9]+\.[0-9]+/\1MINOR/g
  s#/doc/brightnet/(docs/.*|[A-Z]+\.md|LICENSE)#/doc/brightnet/DOCUMENTATION#; s|/brightnet/[a-z_]+\.h|/brightnet/*.h|; s|-(release\|debug)\.cmake|-CONFIGURATION.cmake|' | sort -u >../contents.txt
diff "$here/deb_contents.txt" ../contents.txt ||
  fail "the packages hold something else than tests/packages/deb_contents.txt says (<: missing, >: new)"

field() { dpkg-deb -f "$1" "$2"; }
field brightnet_*.deb Depends | grep -q 'libopencv-core' || fail "what the program loads is not what it depends on"
if field brightnet_*.deb Depends | grep -q libbrightnet; then fail "the program needs another package of ours"; fi
[[ $(field libbrightnet-dev_*.deb Depends) == "libbrightnet"*"(= $(field brightnet_*.deb Version))" ]] || fail "headers and library may differ"
if command -v lintian >/dev/null; then
  lintian --allow-root --fail-on error ./*.deb || fail "lintian has found errors"
else
  echo "deb: there is no lintian"
fi
