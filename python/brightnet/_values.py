"""The dictionaries that callbacks and evaluations give, by the names of metrics.csv and of the JSON of `brightnet eval`."""

from __future__ import annotations

from typing import TypedDict


class Step(TypedDict):
    """How far a run is. The losses are means of the epoch so far."""

    epoch: int  # the current one, from 1
    epochs: int  # of the run; 0: not known yet
    step: int  # of the epoch
    steps: int
    iteration: int  # steps since the start of the run
    learning_rate: float
    loss: float
    box_loss: float
    objectness_loss: float
    class_loss: float
    seconds_left: float  # of the run; negative: not known yet


class ClassScores(TypedDict):
    """Of one class."""

    name: str
    AP: float
    AP50: float
    truths: int


class Scores(TypedDict):
    """Average precision and recall as COCO defines them, from 0 to 1; -1 where there is no ground truth."""

    AP: float
    AP50: float
    AP75: float
    APs: float
    APm: float
    APl: float
    AR: float
    precision: float  # at `score`, the confidence at which the mean F1 of the classes is best
    recall: float
    score: float
    per_class: list[ClassScores]
    images: int
    truths: int
    detections: int


class Metrics(Scores):
    """What evaluate() returns."""

    loss: float  # the validation loss


class Evaluation(Step, Scores):
    """What on_evaluation is given."""

    val_loss: float


class Epoch(Step, total=False):
    """What on_epoch is given; the scores are there where the epoch was evaluated."""

    AP: float
    AP50: float
    AP75: float
    APs: float
    APm: float
    APl: float
    AR: float
    precision: float
    recall: float
    score: float
    per_class: list[ClassScores]
    images: int
    truths: int
    detections: int
    val_loss: float
