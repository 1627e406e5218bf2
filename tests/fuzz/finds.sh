#!/bin/sh
# finds.sh PROGRAM FOLDER: the search keeps what aborts, what throws and what it is told of nothing else.
set -eu
rm -rf "$2" && mkdir -p "$2"
answer=$("$1" planted 3 0 "$2") && { echo "no finding: $answer"; exit 1; }
echo "$answer"
echo "$answer" | grep -q "killed by signal 6"
echo "$answer" | grep -q "not an InputError: planted"
echo "$answer" | grep -Eq "planted +[1-9][0-9]* inputs"
kept=$(find "$2" -name a.txt | wc -l)
test "$kept" -ge 2
number=$(find "$2" -name a.txt -exec grep -l 65536 {} + | head -n 1 | sed 's|.*/planted-\([0-9]*\)/.*|\1|')
if "$1" planted --input "$number" "$2/again" 2>/dev/null; then echo "input $number did not abort again"; exit 1; fi
