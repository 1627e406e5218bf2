#!/usr/bin/env bash
# Files from somebody who means harm: every reader must refuse them, or read what is good in them, soon, with a message and
# an exit code that say so, and nothing outside of the folders it was given may change.
#
#   tests/hostile.sh [BRIGHTNET]    the program, looked for in $PATH if not given
#
# Prints a line a step.
set -uo pipefail
# shellcheck source=tests/said.sh
source "$(dirname "${BASH_SOURCE[0]}")/said.sh"

program=${1:-brightnet}
[[ $program == */* ]] && program=$(realpath "$program")
home=$(mktemp -d "${TEST_TMPDIR:-${TMPDIR:-/tmp}}/hostile.XXXXXX")
trap 'rm -rf "$home"' EXIT
export HOME=$home/outside XDG_CACHE_HOME=$home/cache OMP_WAIT_POLICY=PASSIVE OMP_NUM_THREADS=2
unset BRIGHTNET_MIRROR
mkdir "$home/outside" "$home/inside"
cd "$home/inside" || exit 1

steps=0 failed=0
said=$home/said.txt
escape=$'\e' backwards=$'\u202e'

# step CODE "WORD|WORD…" COMMAND…: runs a command for a minute at most, which must exit with CODE and print each word, no
# control character, and not that it found a bug; `!word` must not be printed.
step() {
  local code=$1 words=$2 wrong=""
  shift 2
  steps=$((steps + 1))
  timeout -k 1 60 "$@" >"$said" 2>&1 </dev/null
  local got=$?
  [[ $got == "$code" ]] || wrong="exit code $got instead of $code"
  wrong+=$(unsaid "$words" "$said")
  grep -q "[$escape$backwards]" "$said" && wrong+="; it sends control characters to the terminal"
  grep -qF "internal error" "$said" && wrong+="; it says that this is a bug"
  if [[ -z $wrong ]]; then
    echo "ok       ${*:2}" | tr -d "$escape"
  else
    failed=$((failed + 1))
    echo "FAILED   ${*:2}" | tr -d "$escape"
    echo "         ${wrong#; }. It said:"
    sed 's/^/         | /' "$said" | tr -d "$escape" | cut -c 1-300 | tail -20
  fi
}
brightnet() {
  local code=$1 words=$2
  shift 2
  step "$code" "$words" "$program" "$@"
}
# bytes NUMBER COUNT: little-endian
# shellcheck disable=SC2059  # the format is the byte
bytes() {
  local i
  for ((i = 0; i < $2; ++i)); do printf "\\x$(printf %02x $((($1 >> (8 * i)) & 255)))"; done
}
# shellcheck disable=SC2059
big() {
  local i
  for ((i = $2 - 1; i >= 0; --i)); do printf "\\x$(printf %02x $((($1 >> (8 * i)) & 255)))"; done
}
repeated() { head -c "$2" /dev/zero | tr '\0' "$1"; }

# --- What is meant well: a data set, a model, a run ---------------------------------------------------------------------
cat >net.yaml <<'YAML'
name: net
input: {size: 32, channels: 3}
activation: leaky
layers:
  - conv: {filters: 8, size: 3, stride: 4}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
head: {anchors: [[8, 8], [14, 14]]}
YAML
# config FILE ROOT: with two classes, for a run of an epoch
config() {
  cat >"$1" <<YAML
model: net.yaml
data: {format: yolo, root: $2, train: images/train, val: images/val, classes: [a, b]}
train: {size: 32, batch: 4, micro_batch: 4, epochs: 1, precision: fp32}
loader: {workers: 1}
YAML
}
config mine.yaml shapes
brightnet 0 "4 training" data synth shapes --train 4 --val 2 --size 32 --classes 2 --seed 1
brightnet 0 "epoch 1/1" train mine.yaml --out run
best=run/weights/best.safetensors

# --- Pipes, devices and files without end ---------------------------------------------------------------------------------
mkfifo pipe pipe.yaml pipe.weights pipe.safetensors pipe.txt pipe.csv pipe.json pipe.onnx pipe.png
truncate -s 100M large.yaml
for file in pipe.yaml /dev/zero; do brightnet 2 "pipe or a device" config "$file"; done
brightnet 2 "larger than 64 MiB" config large.yaml
brightnet 2 "pipe or a device" import --cfg /dev/zero --out x.yaml
for file in pipe.weights pipe.safetensors /dev/zero; do
  brightnet 2 "pipe or a device" detect --weights "$file" --source shapes/images/val
done
for file in pipe.txt pipe.csv pipe.json; do brightnet 2 "" data check --data "$file"; done
brightnet 2 "pipe or a device" export --describe pipe.onnx
brightnet 2 "pipe or a device" detect --weights pipe.onnx --source shapes/images/val
brightnet 2 "none of the images could be read|no permission, or not a file" detect --weights $best --source pipe.png --no-save
cp -r shapes pipes
label=$(find pipes/labels/train -name '*.txt' | sort | head -1)
for target in "$home/inside/pipe" /dev/zero; do
  rm -f "$label" && ln -s "$target" "$label"
  config pipes.yaml pipes
  brightnet 2 "it is a pipe or a device" data check pipes.yaml
done
rm "$label" && truncate -s 100M "$label"
brightnet 2 "larger than 64 MiB" train pipes.yaml

# --- Images that are larger than they look ----------------------------------------------------------------------------------
mkdir -p bombs/images/train bombs/images/val
cp shapes/images/val/* bombs/images/val/
good=$(find shapes/images/train -type f | sort | head -1)
cp "$good" bombs/images/train/
{
  printf '\x89PNG\r\n\x1a\n' && big 13 4 && printf IHDR && big 30000 4 && big 30000 4 && printf '\x08\x02\0\0\0CRC4'
  big 4 4 && printf 'IDAT....CRC4\0\0\0\0IEND\xae\x42\x60\x82'
} >bombs/images/train/bomb.png
{
  printf BM && bytes 54 4 && bytes 0 4 && bytes 54 4 && bytes 40 4 && bytes 30000 4 && bytes 30000 4 && bytes 1 2
  bytes 24 2 && bytes 0 24
} >bombs/images/train/bomb.bmp
{
  printf 'II*\0' && bytes 8 4 && bytes 2 2 && bytes 256 2 && bytes 4 2 && bytes 1 4 && bytes 30000 4
  bytes 257 2 && bytes 4 2 && bytes 1 4 && bytes 30000 4 && bytes 0 4
} >bombs/images/train/bomb.tif
{ printf GIF89a && bytes 20001 2 && bytes 10000 2 && bytes 0 3; } >bomb.gif
brightnet 2 "bomb.gif|200010000 pixels" detect --weights $best --source bomb.gif --no-save
printf 'P6 30000 30000 255 ' >bombs/images/train/bomb.ppm
truncate -s 5G bombs/images/train/large.ppm
head -c 300 "$good" >"bombs/images/train/cut.${good##*.}"
config bombs.yaml bombs
brightnet 2 "4 images are larger than data.max_pixels|it has 900000000 pixels|cannot be decoded" data check bombs.yaml
brightnet 0 "it has 900000000 pixels|in 1 image" \
  detect --weights $best --source "bombs/images/train/*" --no-save
brightnet 2 "at most 100 are decoded" detect --weights $best --source "$good" --no-save --max-pixels 100

# --- Labels ---------------------------------------------------------------------------------------------------------------
mkdir -p crowd/images crowd/labels
cp -r shapes/images/* crowd/images/
mkdir crowd/labels/train
cp -r shapes/labels/val crowd/labels/val
for ((i = 0; i < 20000; ++i)); do
  echo "0 0.$((10000 + (i * 7919) % 80000)) 0.$((10000 + (i * 104729) % 80000)) 0.05 0.05"
done >"crowd/labels/train/$(basename "${good%.*}").txt"
config crowd.yaml crowd
brightnet 0 "epoch 1/1" train crowd.yaml --out crowd-run
for line in "0 nan 0.5 0.1 0.1" "0 1e999 0.5 0.1 0.1" "99999999999999999999 0.5 0.5 0.1 0.1" "-1 0.5 0.5 0.1 0.1" \
  "0 0.5 0.5 0.1" "0 0.5 0.5 -0.1 0.1 0.3" "$(repeated 9 100000)"; do
  echo "$line" >"crowd/labels/train/$(basename "${good%.*}").txt"
  brightnet 2 "" train crowd.yaml
done
mkdir -p voc/Annotations voc/JPEGImages
cp "$good" voc/JPEGImages/a.png
echo "root:x" >"$home/outside/secret"
{
  echo '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY s SYSTEM "file://'"$home"'/outside/secret">'
  for pair in ba cb dc ed fe gf hg; do
    echo "<!ENTITY ${pair:0:1} \"$(for _ in 1 2 3 4 5 6 7 8 9 10; do printf '&%s;' "${pair:1:1}"; done)\">"
  done
  echo ']><annotation><object><name>&h;&s;</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax>'
  echo '</bndbox></object></annotation>'
} >voc/Annotations/a.xml
brightnet 0 "!root:x|1 class" data check --data voc
{
  echo '<annotation>'
  for ((i = 0; i < 30000; ++i)); do echo '<object><name>a</name></object>'; done
  echo '</annotation>'
} >voc/Annotations/a.xml
brightnet 2 "30000 labels are malformed" data check --data voc

# --- Configurations and descriptions of networks ----------------------------------------------------------------------------
{
  echo 'a: &a [x, x, x, x, x, x, x, x, x, x]'
  for pair in ba cb dc ed fe gf hg ih; do
    echo "${pair:0:1}: &${pair:0:1} [$(for _ in 1 2 3 4 5 6 7 8 9; do printf '*%s, ' "${pair:1:1}"; done)*${pair:1:1}]"
  done
  echo 'train: {epochs: *i}'
} >laughs.yaml
brightnet 2 "" config laughs.yaml
printf 'train: %s' "$(repeated '[' 100000)" >deep.yaml
brightnet 2 "" config deep.yaml
printf '[net]\nwidth=2147483647\nheight=32\nchannels=3\n[convolutional]\nfilters=2147483647\nsize=99999\nstride=0\n' >huge.cfg
brightnet 2 "" import --cfg huge.cfg --out x.yaml
printf '[net]\nwidth=32\nheight=32\n[route]\nlayers=-99999999999\n' >route.cfg
brightnet 2 "" import --cfg route.cfg --out x.yaml
repeated '#' 1048577 >long.cfg
brightnet 2 "long.cfg|at most 1048576" import --cfg long.cfg --out x.yaml
sed 's/filters: 8/filters: 2000000000/' net.yaml >wide.yaml
brightnet 2 "" memory wide.yaml --batch 1 --size 32
printf 'path: shapes\ntrain: images/train\nval: images/val\nnames: [%s x]\n' "$(seq -f 'class%.0f,' 9999 | tr '\n' ' ')" \
  >classes.yaml
brightnet 0 "more classes" data stats --data classes.yaml
step 0 "" test "$(wc -l <"$said")" -lt 300

# --- Weights and states -----------------------------------------------------------------------------------------------------
detect() { brightnet "$1" "$2" detect --weights "$3" --source shapes/images/val --no-save; }
{ bytes 9223372036854775807 8 && printf '{'; } >w1.safetensors
{ bytes 2 8 && printf '{}'; } >w2.safetensors
header='{"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8]}}'
{ bytes ${#header} 8 && printf %s "$header" && bytes 0 8; } >w3.safetensors
header='{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
{ bytes ${#header} 8 && printf %s "$header" && bytes 0 8; } >w4.safetensors
{ bytes 100000 8 && repeated '[' 100000; } >w5.safetensors
head -c 2000 $best >w6.safetensors
printf 'PK\003\004' >w7.pt
for file in w?.*; do detect 2 "$file" "$file"; done
bytes 100000001 8 >long.safetensors && truncate -s 100000009 long.safetensors
detect 2 "long.safetensors|at most 100000000 are read|!cut short" long.safetensors
: >empty.weights
brightnet 2 "" detect --weights empty.weights --cfg huge.cfg --source shapes/images/val --no-save
# Every number finite, and about 8e37.
length=$(od -An -t u8 -N 8 $best | tr -d ' ')
size=$(stat -c %s $best)
{ head -c $((8 + length)) $best && repeated '~' $((size - 8 - length)); } >huge.safetensors
brightnet 2 "is not finite" eval mine.yaml --weights huge.safetensors --no-plots
cp -r run cut && truncate -s -100 cut/state/state.safetensors
brightnet 2 "cut/state/state.safetensors" train --resume cut --set train.epochs=2
cp -r run flipped && printf 'X' | dd of=flipped/state/state.safetensors bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null
brightnet 2 "flipped/state/state.safetensors" train --resume flipped --set train.epochs=2
cp -r run zeros && truncate -s +500 zeros/metrics.csv && echo >>zeros/metrics.csv
brightnet 0 "zeros|epoch 2/2" train --resume zeros --set train.epochs=2

# --- Names that a terminal or a browser would obey ------------------------------------------------------------------------
cp -r shapes named
mv "named/images/train/$(basename "$good")" "named/images/train/a${escape}]0;title"$'\a\u009b31m'".png"
printf 'no image' >"named/images/train/b${escape}[2J.png"
config named.yaml named
sed -i 's/classes: .*\]/classes: ["a\\e[31m<\/script><b>", "b"]/' named.yaml
brightnet 2 "u001b" data check named.yaml
brightnet 0 "u001b[31m" data stats named.yaml
brightnet 0 "epoch 1/1" train named.yaml --out named-run
step 1 "" grep -q "$escape" named-run/train.log
step 1 "" grep -qF '</script><b>' named-run/report.html
brightnet 0 "u001b[31m" eval named.yaml --weights named-run/weights/best.safetensors --no-plots

# --- One data set of hostile names, for every command that reads or shows them -------------------------------------------
long=$(repeated n 200)
brightnet 0 "14 training" data synth hostile --train 14 --val 14 --size 32 --classes 2 --seed 2
n=0
for name in '=cmd()' '"><img src=x onerror=alert(1)>' '<script>alert(1)<script>' '$(touch pwned)' '`touch pwned`' \
  '; touch pwned;' '-rf' $'a\e[2J\u009b31mb' $'a\u202egnp' $'new\nline' "it's \"a\", b" '%s%n' "$long" '\..\x'; do
  for split in train val; do
    mv "hostile/images/$split/$(printf %06d $n).jpg" "hostile/images/$split/$name.jpg"
    mv "hostile/labels/$split/$(printf %06d $n).txt" "hostile/labels/$split/$name.txt"
  done
  n=$((n + 1))
done
cat >hostile.yaml <<YAML
path: hostile
train: images/train
val: images/val
names: ['=cmd()', '<script>alert(1)</script>', '"><img src=x onerror=alert(1)>', '\$(touch pwned)\`touch pwned\`',
  "a\\e[31m\\a\\u009b", "\\u202egnp", 'it''s "quoted", with, commas|and bars', $long, "tab\\tand, comma"]
YAML
hostile=(--data hostile.yaml)
train=(train --model net.yaml "${hostile[@]}" --set train.size=32 train.batch=4 train.precision=fp32 train.grow=0 loader.workers=1
  evaluate.every=1)
brightnet 0 "=cmd()" data stats "${hostile[@]}" --json stats.json
brightnet 0 "" data check "${hostile[@]}" --json check.json
brightnet 0 "" data show "${hostile[@]}" --out shown
brightnet 0 "" data anchors --model net.yaml "${hostile[@]}" --count 2 --size 32
brightnet 2 "has a line break" data split "${hostile[@]}" --exact --ratios 0.5,0.5 --out divided
for folder in hostile/{images,labels}/{train,val}; do
  for file in "$folder"/new*; do mv "$file" "${file//$'\n'/}"; done
done
brightnet 0 "" data split "${hostile[@]}" --exact --ratios 0.5,0.5 --out divided
brightnet 0 "" data check --data divided
for format in yolo coco; do
  brightnet 0 "" data convert "${hostile[@]}" --to $format --out "as-$format"
  brightnet 0 "" data check --data "as-$format"
done
brightnet 0 "epoch 2/2" "${train[@]}" train.epochs=2 --out "runs/=cmd()"
brightnet 0 "epoch 3/3" train --resume "runs/=cmd()" --epochs 3
brightnet 0 "epoch 1/1" "${train[@]}" train.epochs=1 --fold 1/2 --out 'runs/<script>alert(1)<script>'
brightnet 0 "" compare "runs/=cmd()" 'runs/<script>alert(1)<script>' --out both.html --json both.json
best="runs/=cmd()/weights/best.safetensors"
brightnet 0 "" eval "${hostile[@]}" --weights "$best" --plots plots --json eval.json
brightnet 0 "" detect --weights "$best" --source hostile/images/val --conf 0.001 --out found --json found.json
brightnet 0 "" export --weights "$best" --format onnx --out hostile.onnx
brightnet 0 "" export --describe hostile.onnx
brightnet 0 "" detect --weights hostile.onnx --source hostile/images/val --no-save --json -
brightnet 0 "" export --weights "$best" --format darknet --out hostile-darknet
brightnet 0 "" eval "${hostile[@]}" --weights hostile-darknet.weights --cfg hostile-darknet.cfg --names hostile-darknet.names --no-plots
brightnet 0 "" tune --model net.yaml "${hostile[@]}" --set train.size=32 train.batch=4 train.precision=fp32 loader.workers=1 \
  --epochs 1 --trials 1 --keys optimizer.rate --out "searches/\$(touch pwned)"
brightnet 0 "" config --model net.yaml "${hostile[@]}"
step 0 "" bash -c 'source <("$0" completion bash); cd hostile/images/train && COMP_WORDS=(brightnet detect --source "") COMP_CWORD=3
  _brightnet "$0"; ((${#COMPREPLY[@]} >= 10)) && ls >/dev/null' "$program"
# What they have written: no page runs a name, no table has a formula, no log obeys, nothing was executed.
pages=$(find . -name '*.html' | wc -l)
step 0 "" test "$pages" -ge 5
step 1 "" grep -rqF --include='*.html' -e '<script>alert(1)' -e '<img src=x' .
step 1 "" grep -rqE --include='*.csv' '(^|,)"?[=+@]' runs searches both.json
step 1 "" grep -rq --include='*.log' --include='*.csv' --include='*.html' --include='*.yaml' "$escape" runs searches plots
step 0 "" test -z "$(find "$home" -name 'pwned*')"
for file in stats check both eval found; do step 0 "" python3 -c 'import json, sys; json.load(open(sys.argv[1]))' $file.json; done

best=run/weights/best.safetensors
# --- Addresses, links, and a folder that changes hands ------------------------------------------------------------------------
for mirror in "file://$home/outside" "ftp://127.0.0.1/x" "gopher://127.0.0.1/"; do
  brightnet 2 "must begin with http" download yolov4-tiny --mirror "$mirror"
done
echo "mine" >"$home/outside/mine"
cp -r run linked
rm linked/train.log && ln -s "$home/outside/mine" linked/train.log
brightnet 2 "symbolic link" train --resume linked --set train.epochs=2
cp -r run linked2 && mv linked2/weights "$home/outside/weights" && ln -s "$home/outside/weights" linked2/weights
before=$(find "$home/outside" -type f -exec stat -c '%n %s %Y' {} + -exec cksum {} + | sort)
brightnet 2 "symbolic link" train --resume linked2 --set train.epochs=2
ln -s "$home/outside/mine" linked.json
brightnet 2 "" detect --weights $best --source shapes/images/val --no-save --json linked.json
mkdir pictures && ln -s "$home/outside/mine" "pictures/$(basename "$(find shapes/images/val -type f | sort | head -1)")"
brightnet 2 "" detect --weights $best --source shapes/images/val --out pictures

timeout -k 1 20 "$program" train mine.yaml --out moved --set train.epochs=1000000 --set train.save_every=1 --set train.patience=0 \
  --set evaluate.every=1000000 >moved.txt 2>&1 &
running=$!
for ((i = 0; i < 200; ++i)); do
  [[ -e moved/state/state.safetensors ]] && break
  sleep 0.05
done
mkdir -p other/state other/weights
perl -e 'rename("moved", "away") && rename("other", "moved") || die'  # at once: what is written between is seen by neither
wait $running
step 2 "deleted or moved and made again" bash -c "cat moved.txt; exit $?"
step 0 "" test -z "$(find moved -type f)"
step 0 "" test -d moved/weights
"$program" train mine.yaml --out piped 2>&1 | true
step 0 "" test -s piped/weights/best.safetensors

step 0 "" test "$before" == "$(find "$home/outside" -type f -exec stat -c '%n %s %Y' {} + -exec cksum {} + | sort)"

echo "$steps steps, $failed failed"
((failed == 0))
