#!/usr/bin/env python3
"""Checks ONNX exports against brightnet: the same pictures through `brightnet detect` and through ONNX Runtime.

Every variant that `brightnet export --format onnx` writes is exported (raw, decoded, nms; batch 1 and dynamic) and
run, and its detections are compared with those of `brightnet detect --json`: for each there must be one of the same
class with an IoU of at least 0.999 and a score within 0.001.

  scripts/check_onnx.py --weights runs/x/weights/best.safetensors --images some/folder
  scripts/check_onnx.py --weights ... --images ... --onnx model.onnx      # a file that was exported before

So that nothing but the network is compared, each picture is first resized to the input size, and both sides read the
result. The remaining work for raw and decoded outputs (decoding, NMS) is done here in NumPy, with the metadata of the
ONNX file: this script is also an example of that. Needs onnxruntime, numpy and Pillow; exits with 0 when all agree, 1
when something differs, 2 when the check cannot be made.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MIN_IOU, MAX_SCORE_DIFFERENCE = 0.999, 1e-3


def stop(message):
    print(f"check_onnx: {message}", file=sys.stderr)
    sys.exit(2)


try:
    import numpy as np
    import onnxruntime
    from PIL import Image
except ImportError as missing:
    stop(f"{missing}. Install it, or name a Python that has it: pip install onnxruntime numpy pillow")


# The program.


def find_program(given):
    places = [Path(given)] if given else [ROOT / "build/release/brightnet", ROOT / "build/brightnet"]
    for place in places:
        if place.is_file():
            return place
    stop(f"there is no program {places[0]}; build it with scripts/build, or give its path with --brightnet")


def brightnet(program, *arguments):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        stop(f"brightnet {arguments[0]} failed:\n{done.stderr.strip()}")
    return done.stdout


def export(program, options, folder, heads, batch, size):
    file = folder / f"{heads}_{batch}.onnx"
    # A detection slightly below the threshold may match one above it, so the graph must not discard it.
    nms = ["--conf", options.conf - MAX_SCORE_DIFFERENCE, "--nms", options.nms] if heads == "nms" else []
    brightnet(program, "export", "--weights", options.weights, "--format", "onnx", "--out", file, "--heads", heads,
              "--batch", batch, "--opset", options.opset, "--size", size, *nms)
    return file


# Pictures.


def fitted(file, description):
    height, width = description.size
    return Image.open(file).convert("RGB" if description.channels == 3 else "L").resize((width, height), Image.BILINEAR)


def prepare(sources, description, folder):
    files = []
    for source in sources:
        path = Path(source)
        if not path.exists():
            stop(f"there is no {path}")
        files += sorted(path.iterdir()) if path.is_dir() else [path]
    prepared = []
    for file in files:
        try:
            picture = fitted(file, description)
        except OSError:
            print(f"check_onnx: {file} is not an image; skipped", file=sys.stderr)
            continue
        prepared.append(folder / f"{len(prepared):04}_{file.stem}.png")
        picture.save(prepared[-1])
    if not prepared:
        stop("there is no image among --images")
    return prepared


def as_input(files):
    """The input for every runtime: planes R, G, B, or one of grey, with values from 0 to 1."""
    pixels = np.stack([np.atleast_3d(np.asarray(Image.open(file))) for file in files])
    return np.ascontiguousarray(pixels.transpose(0, 3, 1, 2), dtype=np.float32) / np.float32(255)


# From outputs to detections.


class Description:
    """The metadata of an exported file."""

    def __init__(self, session):
        properties = session.get_modelmeta().custom_metadata_map
        if properties.get("format") != "brightnet onnx":
            stop("the ONNX file has no brightnet metadata; export it with `brightnet export`")
        self.outputs = properties["outputs"]
        self.classes = json.loads(properties["classes"])
        self.heads = json.loads(properties["heads"])
        self.suppression = json.loads(properties["suppression"])
        given = json.loads(properties["input"])
        self.size = given["size"] if isinstance(given["size"], list) else [given["size"]] * 2  # height, width
        self.channels = given.get("channels", 3)
        self.nms = json.loads(properties.get("nms", "null"))


def sigmoid(x):
    return 1 / (1 + np.exp(-x.astype(np.float64)))


def decode(head, logits, classes, size):
    """Boxes (x1, y1, x2, y2 as fractions) and scores of one head's raw output [batch, channels, rows, columns]."""
    batch, _, rows, columns = logits.shape
    anchors = np.array(head["anchors"])
    t = logits.reshape(batch, len(anchors), 5 + classes, rows, columns)
    row, column = np.arange(rows)[:, None], np.arange(columns)
    scale = head["scale_xy"]
    x = (sigmoid(t[:, :, 0]) * scale - (scale - 1) / 2 + column) / columns
    y = (sigmoid(t[:, :, 1]) * scale - (scale - 1) / 2 + row) / rows
    wh = np.clip(t[:, :, 2:4].astype(np.float64), -10, 10)
    growth = (2 * sigmoid(wh)) ** 2 if head["new_coords"] else np.exp(wh)
    height, width = size
    w = growth[:, :, 0] * anchors[:, 0, None, None] / width
    h = growth[:, :, 1] * anchors[:, 1, None, None] / height
    boxes = np.stack([x - w / 2, y - h / 2, x + w / 2, y + h / 2], -1)
    scores = sigmoid(t[:, :, 4:5]) * sigmoid(t[:, :, 5:])
    return boxes.reshape(batch, -1, 4), np.moveaxis(scores, 2, -1).reshape(batch, -1, classes)


def overlaps(box, others, suppression):
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    shared = np.prod(np.clip(high - low, 0, None), 1)
    area = lambda b: (b[..., 2] - b[..., 0]) * (b[..., 3] - b[..., 1])
    iou = shared / np.maximum(area(box) + area(others) - shared, 1e-12)
    if suppression["kind"] != "diou":
        return iou
    centers = (box[:2] + box[2:] - others[:, :2] - others[:, 2:]) / 2
    around = np.maximum(box[2:], others[:, 2:]) - np.minimum(box[:2], others[:, :2])
    distance = np.sum(centers**2, 1) / np.maximum(np.sum(around**2, 1), 1e-12)
    return iou - distance ** suppression["beta"]


def suppress(boxes, scores, least, threshold, suppression):
    """Detections (class, score, box) of one image, class by class, best first."""
    kept = []
    for c in range(scores.shape[1]):
        order = np.argsort(-scores[:, c], kind="stable")
        order = order[scores[order, c] > least]
        chosen = np.empty((0, 4))
        for i in order:
            if len(chosen) and np.max(overlaps(boxes[i], chosen, suppression)) > threshold:
                continue
            chosen = np.vstack([chosen, boxes[i]])
            kept.append((c, float(scores[i, c]), boxes[i]))
    return kept


def open_session(file):
    try:
        return onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    except Exception as problem:  # onnxruntime's errors have no common base
        stop(f"onnxruntime cannot open {file}: {problem}")


def detections_of(description, outputs, options, count):
    """A list of detections for each of `count` images."""
    if description.outputs == "nms":
        (rows,) = outputs
        return [[(int(r[1]), float(r[2]), r[3:]) for r in rows if int(r[0]) == i] for i in range(count)]
    if description.outputs == "raw":
        parts = [decode(head, output, len(description.classes), description.size)
                 for head, output in zip(description.heads, outputs)]
        boxes, scores = (np.concatenate(part, 1) for part in zip(*parts))
    else:
        boxes, scores = outputs
    return [suppress(boxes[i], scores[i], options.conf - MAX_SCORE_DIFFERENCE, options.nms, description.suppression)
            for i in range(count)]


def run(file, pictures, options, suppression=None):
    session = open_session(file)
    description = Description(session)
    description.suppression = suppression or description.suppression
    batch = session.get_inputs()[0].shape[0]
    step = batch if isinstance(batch, int) else min(4, len(pictures))
    found = []
    for first in range(0, len(pictures), step):
        files = pictures[first:first + step]
        given = files if not isinstance(batch, int) else (files * step)[:step]
        outputs = session.run(None, {"images": as_input(given)})
        found += detections_of(description, outputs, options, len(files))
    return description, found


# The comparison.


def in_picture(detection, size):
    """`brightnet detect` clips boxes to the image, so this does too."""
    c, score, box = detection
    sides = np.array([size[1], size[0]] * 2)
    box = np.clip(np.asarray(box, np.float64) * sides, 0, sides)
    return (c, score, box) if box[2] > box[0] and box[3] > box[1] else None


class Comparison:
    def __init__(self):
        self.count, self.unmatched, self.worst_iou, self.worst_score = 0, 0, 1.0, 0.0

    def add(self, some, others, conf):
        """Every detection of `some` above the threshold must be in `others`, whose threshold is slightly lower."""
        for c, score, box in some:
            if score < conf:
                continue
            self.count += 1
            alike = [(overlaps(box, o[2][None], {"kind": "greedy"})[0], abs(score - o[1])) for o in others if o[0] == c]
            alike = [a for a in alike if a[0] >= MIN_IOU and a[1] <= MAX_SCORE_DIFFERENCE]
            if not alike:
                self.unmatched += 1
                continue
            iou, difference = max(alike)
            self.worst_iou, self.worst_score = min(self.worst_iou, iou), max(self.worst_score, difference)


def words_of(size):
    return "x".join(map(str, size))


def detected(program, pictures, folder, options, size):
    answer = brightnet(program, "detect", "--weights", options.weights, "--source", folder, "--json", "-", "--conf",
                       options.conf - MAX_SCORE_DIFFERENCE, "--nms", options.nms, "--size", words_of(size), "--precision", "fp32",
                       "--device", "cpu")
    by_name = {Path(image["file"]).name: image["detections"] for image in json.loads(answer)}
    return [[(d["class"], d["score"], np.array(d["box"])) for d in by_name[file.name]] for file in pictures]


def reference(program, pictures, folder, description, options):
    """The detections of `brightnet detect`. ONNX's NonMaxSuppression has no DIoU: for a model with DIoU-NMS, those of
    the decoded export with plain IoU."""
    if description.outputs != "nms" or description.suppression["kind"] == "greedy":
        return detected(program, pictures, folder, options, description.size)
    decoded = export(program, options, folder.parent, "decoded", "1", words_of(description.size))
    _, found = run(decoded, pictures, options, {"kind": "greedy"})
    return [[d for d in (in_picture(d, description.size) for d in image) if d] for image in found]


def compare(program, file, pictures, folder, options):
    description, theirs = run(file, pictures, options)
    ours = reference(program, pictures, folder, description, options)
    result = Comparison()
    for our, their in zip(ours, theirs):
        their = [d for d in (in_picture(d, description.size) for d in their) if d]
        result.add(our, their, options.conf)
        result.add(their, our, options.conf)
    return description, result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", required=True, help="safetensors of a run")
    parser.add_argument("--images", required=True, nargs="+", help="images, or folders of images")
    parser.add_argument("--onnx", help="compare this export instead of exporting every variant")
    parser.add_argument("--size", default="0", help="of the input: a square's side, or HxW; 0: the size of training")
    parser.add_argument("--opset", type=int, default=13)
    parser.add_argument("--conf", type=float, default=0.25, help="confidence threshold")
    parser.add_argument("--nms", type=float, default=0.45, help="NMS IoU threshold")
    parser.add_argument("--brightnet", help="the program (default: build/release/brightnet)")
    options = parser.parse_args()
    program = find_program(options.brightnet)

    with tempfile.TemporaryDirectory() as temporary:
        temporary = Path(temporary)
        if options.onnx:
            files = [(Path(options.onnx).name, Path(options.onnx))]
        else:
            files = [(f"{heads}, batch {batch}", export(program, options, temporary, heads, batch, options.size))
                     for heads in ("raw", "decoded", "nms") for batch in ("1", "dynamic")]
        description = Description(open_session(files[0][1]))
        if options.onnx and description.nms:
            options.conf, options.nms = description.nms["score"] + MAX_SCORE_DIFFERENCE, description.nms["iou"]
        folder = temporary / "pictures"
        folder.mkdir()
        pictures = prepare(options.images, description, folder)
        print(f"onnxruntime {onnxruntime.__version__}, input {words_of(description.size)}, {len(pictures)} pictures, "
              f"scores from {options.conf}")
        print(f"{'export':<24}{'compared':>10}{'different':>11}{'lowest IoU':>13}{'score off by':>14}")
        failed = False
        for name, file in files:
            _, result = compare(program, file, pictures, folder, options)
            failed = failed or result.unmatched > 0 or result.count == 0
            print(f"{name:<24}{result.count:>10}{result.unmatched:>11}{result.worst_iou:>13.6f}"
                  f"{result.worst_score:>14.1e}{'' if result.count else '   nothing to compare: lower --conf'}")
    print("different" if failed else "the same")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
