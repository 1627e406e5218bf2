#!/usr/bin/env bash
# The first hour of somebody who has only the program and the documentation: every command of the first pages, from a
# folder outside the clone, and what each must print.
#
#   tests/stranger.sh [BRIGHTNET [BUILD]]    BRIGHTNET: the program, looked for in $PATH if not given; BUILD: the build
#                                            folder that it was installed from, to try `cmake --install` as well
#
# Prints a line a step. Steps for options that the program does not have are skipped, and said.
set -uo pipefail
# shellcheck source=tests/said.sh
source "$(dirname "${BASH_SOURCE[0]}")/said.sh"
tests=$(dirname "$(realpath "${BASH_SOURCE[0]}")")

program=${1:-brightnet}
build=${2:-}
[[ $program == */* ]] && program=$(realpath "$program")
[[ -n $build ]] && build=$(realpath "$build")
home=$(mktemp -d "${TEST_TMPDIR:-${TMPDIR:-/tmp}}/stranger.XXXXXX")
trap 'rm -rf "$home"' EXIT
export HOME=$home XDG_CACHE_HOME=$home/cache OMP_WAIT_POLICY=PASSIVE
cd "$home" || exit 1

steps=0 failed=0 skipped=0
said=$home/said.txt
brightnet() { "$program" "$@"; }

# step CODE "WORD|WORD…" COMMAND…: runs a command, which must exit with CODE and print each word; `!word` must not be
# printed.
step() {
  local code=$1 words=$2 wrong=""
  shift 2
  steps=$((steps + 1))
  "$@" >"$said" 2>&1 </dev/null
  local got=$?
  [[ $got == "$code" ]] || wrong="exit code $got instead of $code"
  wrong+=$(unsaid "$words" "$said")
  if [[ -z $wrong ]]; then
    echo "ok       $*"
  else
    failed=$((failed + 1))
    echo "FAILED   $*"
    echo "         ${wrong#; }. It said:"
    sed 's/^/         | /' "$said" | tail -40
  fi
}
# has OPTION COMMAND…: whether a command has an option; `has COMMAND`: whether there is such a command.
has() {
  if (($# == 1)); then
    "$program" --help 2>&1 | grep -qE "^  $1 "
  else
    local option=$1
    shift
    "$program" "$@" --help 2>&1 | grep -qE -- "^ +$option( |,|$)"
  fi
}
skip() {
  skipped=$((skipped + 1))
  echo "skipped  $1: this program has no such thing yet"
}
exists() { step 0 "" test -s "$1"; }

quick=(--set train.size=64 --set train.batch=8 --set evaluate.every=1 --set loader.workers=1 --set train.precision=fp32)

# --- What is this, and does it run here? -----------------------------------------------------------------------------
step 0 "brightnet " brightnet --version
step 0 "train |detect |export " brightnet --help
step 0 "override config values (repeatable)" brightnet train --help
step 0 "confidence threshold (default: 0.25)|NMS IoU threshold (default: 0.45)" brightnet detect --help
step 2 "Did you mean '--weights'" brightnet train --wieghts x
step 2 "Did you mean 'detect'" brightnet detct
if has models; then
  step 0 "yolov4-tiny|yolov4-tiny.conv.29|GFLOP" brightnet models
else
  skip "brightnet models"
fi

# --- The user's own folder -------------------------------------------------------------------------------------------
step 0 "48 training and 16 validation images" brightnet data synth shapes --train 48 --val 16 --size 64 --classes 3 --seed 1
cat >mine.yaml <<'YAML'
model: net.yaml
data: {format: yolo, root: shapes, train: images/train, val: images/val, classes: [circle, square, triangle]}
YAML
cat >net.yaml <<'YAML'
name: net
input: {size: 64, channels: 3}
activation: leaky
layers:
  - conv: {filters: 8, size: 3, stride: 2}
  - conv: {filters: 16, size: 3, stride: 2}
  - conv: {name: fine, filters: 32, size: 3, stride: 2}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
  - conv: {from: fine, filters: 32, size: 3, stride: 2}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [2, 3]}
head: {anchors: [[8, 8], [14, 14], [22, 22], [32, 32]]}
YAML
step 0 "No problems found" brightnet data check mine.yaml
step 0 "circle" brightnet data stats mine.yaml
step 0 "anchors:" brightnet data anchors mine.yaml --size 64
step 0 "train: 48 images in |Written: shards" brightnet data shard shapes --out shards --size-mb 1
step 2 "already exists and is not an empty folder" brightnet data shard shapes --out shards
step 0 "train: 48 images|No problems found" brightnet data check shards
step 0 "AP50" brightnet train --model demo --data shards --epochs 1 --size 64 --batch 8 --out sharded
step 0 "" brightnet data show mine.yaml --plain --count 4 --set train.size=64
step 0 "model: |batch: auto" brightnet config mine.yaml
step 2 "multiple of 16" brightnet config mine.yaml --set train.size=100
step 2 "Did you mean 'epochs'" brightnet train mine.yaml --set train.epoch=3
if has --model train && has --data train; then
  step 0 "Data: |AP50|named/weights/best.safetensors" brightnet train --model demo --data shapes/data.yaml --epochs 1 --size 64 --batch 8 --out named
  step 0 "No problems found" brightnet data check --data shapes/data.yaml
  step 0 "mAP@0.5" brightnet eval --data shapes/data.yaml --weights named/weights/best.safetensors
  printf 'path: %s\ntrain: images/train\nval: images/val\nnames: {0: circle, 1: square, 2: triangle}\n' "$home/shapes" \
    >ultralytics.yaml
  step 0 "No problems found" brightnet data check --data ultralytics.yaml
  step 0 "epoch 1/1" brightnet train --model demo --data ultralytics.yaml --epochs 1 --size 64 --batch 8 --out ultralytics
  step 2 "yolov4-tiny" brightnet train --model yolov4-tyni --data shapes/data.yaml
else
  skip "train --model --data"
fi

# --- Data sets as tools and people lay them out ------------------------------------------------------------------------
if command -v python3 >/dev/null; then
  step 0 "" brightnet data synth exported --train 12 --val 4 --size 64 --classes 3 --seed 2
  "$tests/exports.py" exported exports >exports.txt
  while IFS=$'\t' read -r place words; do
    step 0 "$words" brightnet data check "$place"
  done <exports.txt
  step 0 "with LabelMe|AP50" \
    brightnet train --model demo --data exports/labelme --epochs 1 --size 64 --batch 4 --out from-labelme
else
  echo "skipped  40 data sets: there is no python3 to lay them out"
fi

# --- Training, and looking at it ---------------------------------------------------------------------------------------
step 0 "Chosen for this run|epoch 4/4|AP50|mAP@0.5|runs/mine/weights/best.safetensors|brightnet detect --weights" \
  brightnet train mine.yaml --set train.epochs=4 "${quick[@]}"
for file in config.yaml train.log metrics.csv results.png weights/best.safetensors weights/last.safetensors; do
  exists runs/mine/$file
done
if [[ -e runs/mine/report.html ]]; then
  step 1 "" grep -qE '(src|href)="https?://' runs/mine/report.html  # no network
else
  skip "report.html"
fi
step 0 "circle|all|mAP@0.5:0.95" brightnet eval mine.yaml --weights runs/mine/weights/best.safetensors
if has --plots eval; then
  step 0 "" brightnet eval mine.yaml --weights runs/mine/weights/best.safetensors --plots drawn
  exists drawn/report.html
else
  skip "eval --plots"
fi
step 0 "in 16 images|Pictures: found|shapes/images/val/| ms" brightnet detect \
  --weights runs/mine/weights/best.safetensors --source shapes/images/val --conf 0.01 --out found
step 0 " (0." brightnet detect --weights runs/mine --source shapes/images/val --conf 0 --max-det 2 --scores --no-save
step 0 "in 16 images" brightnet detect --weights runs/mine --source shapes/images/val --conf 0.01 --class-agnostic \
  --line-width 3 --hide-labels --out plain
# shellcheck disable=SC2016
step 0 "!ms|!images" bash -c '"$0" detect --weights runs/mine --source shapes/images/val --no-save --quiet' "$program"
step 2 "there is no display" env -u DISPLAY -u WAYLAND_DISPLAY "$program" detect --weights runs/mine \
  --source shapes/images/val --show --no-save

# --- Stopping, resuming, training longer ------------------------------------------------------------------------------
step 0 "This run is finished|--epochs 8" brightnet train mine.yaml --resume
step 0 "4 of now 6 epochs are done. The learning rate of the rest|epoch 6/6" \
  brightnet train mine.yaml --resume --set train.epochs=6
step 0 "runs/mine exists and is kept: this run is written to runs/mine-2." \
  brightnet train mine.yaml --set train.epochs=1 "${quick[@]}"
step 0 "!exists" brightnet train mine.yaml --out elsewhere/first --set train.epochs=1 "${quick[@]}"
step 0 "elsewhere/first exists and is kept: this run is written to elsewhere/first-2." \
  brightnet train mine.yaml --out elsewhere/first --set train.epochs=1 "${quick[@]}"
step 0 "This run is finished|elsewhere/first-2" brightnet train mine.yaml --resume
rm elsewhere/first-2/state/state.safetensors
step 2 "its weights are there, but not" brightnet train --resume elsewhere/first-2
rm elsewhere/first-2/weights/last.safetensors
step 0 "ended before its first save: it begins again|epoch 1/1" brightnet train --resume elsewhere/first-2
"$program" train mine.yaml --out stopped --set train.epochs=100000 "${quick[@]}" >stopped.txt 2>&1 &
running=$!
for ((i = 0; i < 600; ++i)); do
  grep -q "epoch 1/" stopped.txt && break
  sleep 0.1
done
kill -TERM "$running"  # SIGINT is ignored by what a script starts in the background
wait "$running"
step 4 "Resume with: brightnet train --resume stopped|everything is saved" bash -c "cat stopped.txt; exit $?"
step 2 "there is nothing to resume: no run was named" brightnet train --resume
step 2 "there is no run to resume" brightnet train mine.yaml --out nowhere --resume

step 0 "AP50" brightnet eval mine.yaml --weights runs/mine
step 0 "" brightnet detect --weights runs/mine --source shapes/images/val --no-save
step 0 "Weights of|runs/mine/weights/" brightnet train mine.yaml --weights runs/mine --out from-run --set train.iterations=1

# Results are on standard output, all else on standard error.
# shellcheck disable=SC2016
step 0 "mAP@0.5|Best weights|!epoch 1/2" bash -c \
  '"$0" train mine.yaml --out apart --set train.epochs=2 "$@" 2>/dev/null' "$program" "${quick[@]}"
# shellcheck disable=SC2016
step 0 "epoch 1/2|!mAP@0.5" bash -c \
  '"$0" train mine.yaml --out apart --set train.epochs=2 "$@" 2>&1 >/dev/null' "$program" "${quick[@]}"

# --- Words from elsewhere ----------------------------------------------------------------------------------------------
step 2 "there is no option '--imgsz': brightnet says --size" brightnet train mine.yaml --imgsz 416
step 2 "there is no command 'predict': brightnet says detect" brightnet predict --imgsz 416
step 2 "brightnet says train X.cfg --data obj.data" brightnet detector train obj.data x.cfg
step 2 "there is no option '-dont_show': leave it out" brightnet detect -dont_show
step 2 "brightnet train --model demo --data x --epochs 3 --size 64" brightnet train model=demo data=x epochs=3 imgsz=64
step 2 "Subcommands:" brightnet
step 0 "Usage: brightnet data check" brightnet help data check

# --- Weights from elsewhere -------------------------------------------------------------------------------------------
cp -r shapes turned
rm turned/data.yaml  # whose names are in the other order
for file in turned/labels/*/*.txt; do
  sed -i 's/^0 /x /; s/^1 /0 /; s/^2 /1 /; s/^x /2 /' "$file"
done
cat >turned.yaml <<'YAML'
model: net.yaml
data: {format: yolo, root: turned, train: images/train, val: images/val, classes: [square, triangle, circle]}
YAML
step 0 "matched by name" brightnet eval turned.yaml --weights runs/mine/weights/best.safetensors --json turned.json
step 0 "" brightnet eval mine.yaml --weights runs/mine/weights/best.safetensors --json mine.json
step 0 "" cmp mine.json turned.json
step 0 "which this data set lists as square, triangle, circle|are put into this order" \
  brightnet train turned.yaml --weights runs/mine/weights/best.safetensors --out turned-run --set train.iterations=1 \
  --set optimizer.rate=1e-20 --set ema.decay=0 "${quick[@]}"
sed 's/circle, square, triangle/bolt, nut, washer/' mine.yaml >other.yaml
step 0 "none of which is among them: the prediction layers|start fresh" \
  brightnet train other.yaml --weights runs/mine/weights/best.safetensors --out other-run --set train.iterations=1 "${quick[@]}"
step 2 "these weights were trained for the classes circle, square, triangle" \
  brightnet eval other.yaml --weights runs/mine/weights/best.safetensors
printf 'PK\003\004 as torch.save() writes' >yolov8n.pt
for command in "train mine.yaml" "eval mine.yaml" "detect --source shapes/images/val" "export --format onnx"; do
  # shellcheck disable=SC2086
  step 2 "yolov8n.pt: these are PyTorch weights" brightnet $command --weights yolov8n.pt
done

# --- The same image in train and val, also re-encoded -------------------------------------------------------------------
cp -r shapes leaky
first=$(find leaky/images/train -type f | sort | head -1)
cp "$first" "leaky/images/val/copy.${first##*.}"
label=${first/images/labels}
cp "${label%.*}.txt" leaky/labels/val/copy.txt
sed 's/root: shapes/root: leaky/' mine.yaml >leaky.yaml
step 0 "copy" brightnet data check leaky.yaml

# --- Comparing, exporting ---------------------------------------------------------------------------------------------
step 0 "mine-2|differing key|compare.png" brightnet compare runs/mine runs/mine-2 --out compare.png
exists compare.png
if brightnet compare --help | grep -q '\.html'; then exists compare.html; else skip "compare's page"; fi
step 0 "best.onnx" brightnet export --weights runs/mine/weights/best.safetensors --format onnx --out best.onnx
step 0 "circle" brightnet export --describe best.onnx
step 0 "" brightnet memory net.yaml --batch 4 --size 64
step 0 "oneDNN|OpenCV" brightnet doctor

# --- What a command finds by itself ------------------------------------------------------------------------------------
step 0 "Data: those of the run runs/mine|mAP@0.5" brightnet eval --weights runs/mine/weights/best.safetensors --no-plots
step 2 "no data set was named" brightnet eval --weights best.onnx
step 0 "mAP@0.5" brightnet eval mine.yaml --weights best.onnx --no-plots
step 0 "in 16 images" brightnet detect --weights best.onnx --source shapes/images/val --no-save
step 0 "mAP@0.5" brightnet eval --weights runs/mine --augment --no-plots
step 0 "Fine-tune it|brightnet train --model" brightnet prune --weights runs/mine --keep 0.7 --out smaller
step 0 "mAP@0.5" brightnet eval mine.yaml --weights smaller/weights.safetensors --no-plots
mkdir -p empty && cd empty
step 2 "there is nothing to resume|There is no run below runs/" brightnet train --resume
cd ..
step 2 "the newest first, runs/mine" brightnet train --resume
mkdir -p runs/none
step 0 "Skipped, as no run: |runs/none|compare.png" bash -c "$program compare runs/* --out compare.png"
step 0 "compare.png" brightnet compare runs/mine runs/mine-2 --out compare.png
step 0 "24 of 48 training images are trained on|epoch 2/2" \
  brightnet train mine.yaml --out part --epochs 2 --set data.fraction=0.5 train.save_epochs=1 "${quick[@]}"
for file in weights/epoch_001.safetensors weights/epoch_002.safetensors labels.jpg; do exists part/$file; done
sed 's/circle, square, triangle/Circle, square, triangle/' mine.yaml >case.yaml
step 2 "lists 'Circle'|Did you mean 'circle'?" brightnet eval case.yaml --weights runs/mine
step 0 "train" brightnet completion bash -- tr
step 0 "train.epochs=" brightnet completion zsh -- train --set train.epo
step 0 "optimizer.kind=adamw" brightnet completion fish -- train --set optimizer.kind=

# --- Installed ----------------------------------------------------------------------------------------------------------
if [[ -n $build ]]; then
  step 0 "" cmake --install "$build" --prefix "$home/installed"
  program=$home/installed/bin/brightnet
  step 0 "brightnet " brightnet --version
  step 0 "" test -s "$home/installed/share/doc/brightnet/docs/detect.md"
  if has models; then
    step 0 "yolov4-tiny" brightnet models
    step 0 "epoch 1/1" brightnet train --model demo --data shapes/data.yaml --epochs 1 --size 64 --batch 8 --out installed-run
  fi
fi

echo "$steps steps, $failed failed, $skipped skipped"
((failed == 0))
