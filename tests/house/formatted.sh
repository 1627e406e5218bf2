#!/bin/sh
# Is the tree as clang-format leaves it? Versions differ, so version 14 alone is asked.
# formatted.sh ROOT: exit code 0, 1, or 77 where there is no clang-format 14.
cd "$1" || exit 2
program=$(command -v clang-format-14 || command -v clang-format)
case $("${program:-false}" --version 2>/dev/null) in
  *"version 14."*) ;;
  *) echo "Skipped: there is no clang-format 14."; exit 77 ;;
esac
for folder in core kernels layers data formats detect train brightnet cli python tests; do
  find $folder -name '*.cpp' -o -name '*.h' -o -name '*.cu'
done | xargs -n 50 "$program" --dry-run --Werror
