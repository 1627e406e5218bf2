#!/usr/bin/env python3
"""Makes tests/detect/fixtures/coco_metrics.json: a random but hard detection problem and its pycocotools metrics.

    python3 -m venv VENV && VENV/bin/pip install numpy pycocotools
    VENV/bin/python scripts/make_coco_fixture.py

The file is stored, so tests need no Python; running this again gives the same file (with the same numpy).
Coordinates are multiples of 1/4 pixel and scores fit a float, so that nothing is lost between float and double and
IoUs that equal a threshold exactly (0.5, 0.75, 0.8 ...) do so in both implementations.
"""

import contextlib
import io
import json
import pathlib
from importlib.metadata import version

import numpy as np
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

SEED = 20240917
IMAGE_SIZE = 640
CLASSES = ["person", "car", "bird", "cell", "crowd only", "detected only", "absent"]
ORDINARY = 4  # classes with truths that are not only crowds


def quarter(value):
    return float(np.round(value * 4) / 4)


def random_box(rng):
    """Sizes over four octaves around COCO's limits of 32 and 96 pixels; some of exactly these sizes."""
    side = 2.0 ** rng.uniform(2, 8.5)
    w, h = quarter(side * rng.uniform(0.6, 1.6)), quarter(side * rng.uniform(0.6, 1.6))
    if rng.random() < 0.1:
        w = h = float(rng.choice([32, 96]))
    w, h = max(w, 1.0), max(h, 1.0)
    x = quarter(rng.uniform(0, max(1, IMAGE_SIZE - w)))
    y = quarter(rng.uniform(0, max(1, IMAGE_SIZE - h)))
    return [x, y, x + w, y + h]


def disturbed(rng, box):
    """A detection of `box`: exact, cut to an exact IoU, or moved and scaled."""
    x1, y1, x2, y2 = box
    kind = rng.random()
    if kind < 0.1:
        return list(box)
    if kind < 0.25:
        return [x1, y1, x2, y1 + (y2 - y1) * float(rng.choice([0.5, 0.75]))]
    amount = rng.choice([0.03, 0.1, 0.25])
    w, h = x2 - x1, y2 - y1
    shift = rng.normal(0, amount, 4) * [w, h, w, h]
    moved = [quarter(value) for value in np.array(box) + shift]
    return [min(moved[0], moved[2] - 1), min(moved[1], moved[3] - 1), moved[2], moved[3]]


def random_score(rng):
    """Two of three scores are sixteenths: ties within and between images."""
    value = rng.integers(1, 17) / 16 if rng.random() < 0.66 else rng.uniform(0.01, 1)
    return float(np.float32(value))


def add_twins(rng, truths, detections):
    """Two truths at the same distance from a detection, and a second detection that fits one of them: which of the two
    the first detection is matched with decides whether the second is a true positive."""
    x, y = float(rng.integers(0, 400)), float(rng.integers(0, 400))
    class_id = int(rng.integers(0, ORDINARY))
    for shift in (-2, 2):
        truths.append([x + shift, y, x + shift + 40, y + 40, class_id, 0, 1600.0])
    detections.append([x, y, x + 40, y + 40, class_id, 0.96875])
    fits = float(rng.choice([-6, 6]))
    detections.append([x + fits, y, x + fits + 40, y + 40, class_id, 0.90625])


def make_image(rng, index):
    truths, detections = [], []
    if index % 7 != 3:  # the other images have no truths
        count = 150 if index == 5 else int(rng.integers(1, 12))
        for _ in range(count):
            box = random_box(rng)
            class_id = 0 if index == 5 else int(rng.integers(0, ORDINARY))
            crowd = bool(rng.random() < 0.08)
            if rng.random() < 0.04:
                class_id, crowd = 4, True
            area = (box[2] - box[0]) * (box[3] - box[1])
            if rng.random() < 0.3:  # a segmentation's area is smaller than its box's
                area = quarter(area * rng.uniform(0.4, 1))
            truths.append([*box, class_id, int(crowd), area])
    if index % 11 != 4:  # the other images have no detections
        for box in truths:
            for _ in range(int(rng.choice([0, 1, 1, 2]))):
                class_id = box[4] if rng.random() < 0.85 else int(rng.integers(0, ORDINARY))
                detections.append([*disturbed(rng, box[:4]), class_id, random_score(rng)])
        for _ in range(int(rng.integers(0, 8))):
            class_id = int(rng.choice([0, 1, 2, 3, 5]))
            detections.append([*random_box(rng), class_id, random_score(rng)])
        if index % 3 == 0:
            add_twins(rng, truths, detections)
        order = rng.permutation(len(detections))
        detections = [detections[i] for i in order]
    return {"id": int(1000 - 13 * index), "truths": truths, "detections": detections}


def as_coco(images):
    """The same in COCO's format; ids start at 1, since pycocotools treats a match with id 0 as no match."""
    annotations, results = [], []
    for image in images:
        for x1, y1, x2, y2, class_id, crowd, area in image["truths"]:
            annotations.append({"id": len(annotations) + 1, "image_id": image["id"], "category_id": class_id + 1,
                                "bbox": [x1, y1, x2 - x1, y2 - y1], "area": area, "iscrowd": crowd})
        for x1, y1, x2, y2, class_id, score in image["detections"]:
            results.append({"image_id": image["id"], "category_id": class_id + 1,
                            "bbox": [x1, y1, x2 - x1, y2 - y1], "score": score})
    truth = COCO()
    truth.dataset = {"images": [{"id": i["id"], "width": IMAGE_SIZE, "height": IMAGE_SIZE} for i in images],
                     "categories": [{"id": c + 1, "name": name} for c, name in enumerate(CLASSES)],
                     "annotations": annotations}
    truth.createIndex()
    return truth, truth.loadRes(results)


def mean_or_minus_one(values):
    values = values[values > -1]
    return float(values.mean()) if values.size else -1.0


def expected_values(images):
    truth, results = as_coco(images)
    evaluation = COCOeval(truth, results, "bbox")
    evaluation.evaluate()
    evaluation.accumulate()
    evaluation.summarize()
    names = ["AP", "AP50", "AP75", "APs", "APm", "APl", "AR1", "AR10", "AR", "ARs", "ARm", "ARl"]
    expected = {name: float(value) for name, value in zip(names, evaluation.stats)}
    precision = evaluation.eval["precision"][:, :, :, 0, 2]  # threshold, recall, class
    expected["per_class"] = [{"name": name,
                              "AP": mean_or_minus_one(precision[:, :, c]),
                              "AP50": mean_or_minus_one(precision[0, :, c]),
                              "curve": [round(float(p), 9) for p in precision[0, :, c]]}
                             for c, name in enumerate(CLASSES)]
    return expected


def main():
    rng = np.random.default_rng(SEED)
    images = [make_image(rng, index) for index in range(60)]
    with contextlib.redirect_stdout(io.StringIO()) as summary:
        expected = expected_values(images)
    target = pathlib.Path(__file__).parent.parent / "tests/detect/fixtures/coco_metrics.json"
    head = {"made_by": "scripts/make_coco_fixture.py", "seed": SEED, "pycocotools": version("pycocotools"),
            "numpy": np.__version__, "truths": "x1 y1 x2 y2 class crowd area", "detections": "x1 y1 x2 y2 class score",
            "classes": CLASSES, "expected": expected}
    lines = ",\n".join(json.dumps(image, separators=(",", ":")) for image in images)
    target.write_text(json.dumps(head, separators=(",", ":"))[:-1] + ',\n"images":[\n' + lines + "\n]}\n")
    print(summary.getvalue())
    print(f"{target}: {target.stat().st_size} bytes, "
          f"{sum(len(i['truths']) for i in images)} truths, {sum(len(i['detections']) for i in images)} detections")


if __name__ == "__main__":
    main()
