"""Trains and runs YOLOv4 detectors.

    import brightnet

    run = brightnet.train(model="yolov4-tiny", data="/data/mine", epochs=50, size=416)
    detector = brightnet.Detector(run.weights)
    found = detector("image.jpg")
    print(found.names, found.scores, found.boxes)

Messages go to the logger "brightnet" of Python's logging: `logging.basicConfig(level=logging.INFO)` shows them. What the user
can mend raises InputError or DeviceError, with the paragraph that the command prints. docs/python.md has all of it.
"""

from brightnet._brightnet import DeviceError, Error, InputError, Weights, __version__
from brightnet._data import Batch, Dataset, check
from brightnet._detector import Detections, Detector
from brightnet._models import export, memory, models, open_weights, prune
from brightnet._training import Run, evaluate, train
from brightnet._values import ClassScores, Epoch, Evaluation, Metrics, Scores, Step

__all__ = [
    "Batch",
    "ClassScores",
    "Dataset",
    "Detections",
    "Detector",
    "DeviceError",
    "Epoch",
    "Error",
    "Evaluation",
    "InputError",
    "Metrics",
    "Run",
    "Scores",
    "Step",
    "Weights",
    "__version__",
    "check",
    "evaluate",
    "export",
    "memory",
    "models",
    "open_weights",
    "prune",
    "train",
]
