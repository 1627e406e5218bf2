"""train() and evaluate()."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from collections.abc import Callable, Mapping
from typing import Any, Literal, Optional, cast

import numpy as np

from brightnet import _brightnet, _options
from brightnet._log import ProgressLine, logger
from brightnet._models import open_weights
from brightnet._options import StrPath
from brightnet._values import Epoch, Evaluation, Metrics, Scores, Step


@dataclasses.dataclass(frozen=True)
class Run:
    """What a training made."""

    #: "finished"; "no_better": train.patience evaluations without a better score; "stopped": by a callback, and can be
    #: resumed; "was_over": the run that was to be resumed had nothing left to do.
    outcome: Literal["finished", "no_better", "stopped", "was_over"]
    folder: pathlib.Path
    #: The weights to use: the best ones, their average if it is better, or the last ones.
    weights: pathlib.Path
    epochs: int
    iterations: int
    #: Of the best evaluation; None before the first.
    best: Optional[Scores]


def _goes_on(callback: Callable[[Any], object] | None, values: Any) -> bool:
    """False where the callback returned False, NumPy's included."""
    answer = callback(values) if callback else None
    return not isinstance(answer, (bool, np.bool_)) or bool(answer)


@_options.checked
def train(
    config: StrPath = "",
    *,
    model: StrPath = "",
    data: StrPath = "",
    epochs: int | None = None,
    size: _options.Size | str | None = None,
    batch: int | None = None,
    weights: StrPath = "",
    weights_cfg: StrPath = "",
    weights_partial: bool = False,
    resume: bool | StrPath = False,
    out: StrPath = "",
    device: str = "auto",
    precision: str = "",
    fold: str = "",
    graph: bool = True,
    on_begin: Callable[[pathlib.Path], object] | None = None,
    on_step: Callable[[Step], object] | None = None,
    on_epoch: Callable[[Epoch], object] | None = None,
    on_evaluation: Callable[[Evaluation], object] | None = None,
    progress: bool | None = None,
    settings: Mapping[str, object] = {},
    **keys: object,
) -> Run:
    """Trains a model on a data set, as `brightnet train` does with the options of the same names.

    `config` is a run's YAML or darknet's .cfg; `model` a name of models() or the path of a YAML or .cfg; `data` an Ultralytics
    data.yaml, darknet's obj.data, a COCO JSON, a VOC folder, or a folder of images and labels. Every other value of the
    configuration is given by its key: ``settings={"train.minutes": 8, "augment.mosaic": 0}``, or ``**`` and the same. `size` is
    one number, (height, width) or "auto". `resume` is True, for the newest run of this configuration, or a run's folder; "" is
    neither.

    The callbacks are called by the thread that called train(): `on_begin` with the run's folder, `on_step`, `on_epoch` and
    `on_evaluation` with dictionaries. One that returns False stops the run, which is saved and can be resumed; so does one
    that raises, and what it raised is raised here. Ctrl-C saves and raises KeyboardInterrupt. `progress`: a line that is
    rewritten; None: in terminals and notebooks.

    Raises InputError for what cannot be trained, DeviceError when the device cannot be used. Other Python threads run
    meanwhile. One run at a time in a process.
    """
    assignments = _options.assignments(train, settings, keys)
    for word, count in (("epochs", epochs), ("batch", batch)):
        if count is not None and count < 1:  # the library takes 0 for what is not given
            raise _brightnet.InputError(f"train(): {word} is {count} and must be at least 1.")
    resumed = resume if isinstance(resume, (str, os.PathLike)) else None
    if resumed is not None and not os.fspath(resumed):
        raise _brightnet.InputError(
            'train(): resume is "". Give the folder of a run, True for the newest run of this configuration, or False for a new run.'
        )
    folder: list[pathlib.Path] = []
    line = ProgressLine(progress)

    def tell(event: str, values: Any) -> bool:
        if event == "begin":
            folder.append(values)
            return _goes_on(on_begin, values)
        if event == "step":
            line.step(values)
            return _goes_on(on_step, values)
        if event == "evaluation":
            line.scores(values["AP50"])
            return _goes_on(on_evaluation, values)
        return _goes_on(on_epoch, values)

    try:
        with line:
            result = _brightnet.train(
                config=os.fspath(config),
                model=os.fspath(model),
                data=os.fspath(data),
                settings=assignments,
                fold=fold,
                precision=precision,
                epochs=epochs or 0,
                size=_options.size_text(size),
                batch=batch or 0,
                weights=os.fspath(weights),
                weights_cfg=os.fspath(weights_cfg),
                weights_partial=weights_partial,
                resume=bool(resume),
                folder=os.fspath(resumed or "") if resume else os.fspath(out),
                out=os.fspath(out) if resume else "",
                device=device,
                no_graph=not graph,
                tell=tell,
            )
    except KeyboardInterrupt:
        if folder:
            logger.warning("Interrupted; everything is saved. Resume with brightnet.train(resume=%r)", str(folder[0]))
        raise
    return Run(**cast(Any, result))


@_options.checked
def evaluate(
    weights: StrPath | _brightnet.Weights,
    data: StrPath,
    *,
    split: str = "val",
    device: str = "auto",
    precision: str = "auto",
    batch: int = 8,
    size: _options.Size | None = None,
    settings: Mapping[str, object] = {},
    **keys: object,
) -> Metrics:
    """The metrics of weights on a split of a data set, whose classes are matched with those of the weights by name.

    `settings` are values of a configuration by their keys: ``{"evaluate.nms.iou": 0.5}``. Raises InputError where the
    classes are not the same or the split is missing, DeviceError when the device cannot be used.
    """
    return _brightnet.evaluate(
        weights=open_weights(weights),
        data=os.fspath(data),
        split=split,
        settings=_options.assignments(evaluate, settings, keys),
        device=device,
        precision=precision,
        batch=batch,
        size=_options.sides(size),
    )
