"""Models, their memory, their weights, and weights for other programs."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from brightnet import _brightnet, _options
from brightnet._options import StrPath


@_options.checked
def open_weights(
    weights: StrPath | _brightnet.Weights,
    *,
    cfg: StrPath = "",
    names: StrPath = "",
    classes: Sequence[str] = (),
) -> _brightnet.Weights:
    """Reads a .safetensors, the folder of a run, or darknet's .weights with its `cfg`; weights that are published are fetched
    by their names. The class names of darknet's come from `names`, a .names file or an obj.data, or are `classes`. Raises
    InputError when the files are not there, not whole, or do not belong together."""
    given = list(classes)
    if isinstance(weights, _brightnet.Weights):
        if os.fspath(cfg) or os.fspath(names) or given:
            raise _brightnet.InputError("cfg, names and classes are for weights in files, and these are open. Leave them out.")
        return weights
    opened = _brightnet.open_weights(weights, cfg, names, given)
    if given and opened.classes != given:
        raise _brightnet.InputError(f"{weights}: these weights have the classes {', '.join(opened.classes)}. Leave classes out.")
    return opened


def models() -> list[dict[str, Any]]:
    """The models that train() can name, with `size`, `parameters` and `gflop`, and the `weights` that are published for each:
    the JSON of `brightnet models`."""
    return cast("list[dict[str, Any]]", json.loads(_brightnet.describe_models())["models"])


@_options.checked
def memory(
    model: StrPath,
    *,
    batch: int = 0,
    size: _options.Size | None = None,
    classes: int = 0,
    data: StrPath = "",
    device: str = "auto",
    precision: str = "",
    device_memory: str = "",
    settings: Mapping[str, object] = {},
    **keys: object,
) -> dict[str, Any]:
    """The bytes that a training step and a forward pass need, without running them: the JSON of `brightnet memory`.

    `model` is a model's name, or the YAML of a model or a run. With `device_memory` ("8GiB") `largest_batch` is there too.
    """
    _options.natural(batch=batch, classes=classes)
    answer = _brightnet.plan_memory(
        model=os.fspath(model),
        data=os.fspath(data),
        settings=_options.assignments(memory, settings, keys),
        device=device,
        precision=precision,
        batch=batch,
        classes=classes,
        size=_options.sides(size),
        device_memory=device_memory,
    )
    return cast("dict[str, Any]", json.loads(answer))


def _refuse_to_replace(file: pathlib.Path, replace: bool, ours: bool) -> None:
    if file.exists() and not replace and not ours:
        raise _brightnet.InputError(f"{file}: this file exists. Name another with out, or give replace=True.")


def _refuse_idle(meaning: str, **idle: bool) -> None:
    """Raises InputError for keywords that were given and have no effect."""
    words = [word for word, given in idle.items() if given]
    if words:
        are, it = ("are", "them") if len(words) > 1 else ("is", "it")
        raise _brightnet.InputError(f"{' and '.join(words)} {are} for {meaning} only. Leave {it} out, or choose that.")


def _make_folder(folder: pathlib.Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise _brightnet.InputError(f"{folder}: this folder cannot be made: {problem.strerror}.") from None


@_options.checked
def export(
    weights: StrPath | _brightnet.Weights,
    format: Literal["onnx", "darknet"] = "onnx",
    out: StrPath | None = None,
    *,
    heads: Literal["raw", "decoded", "nms"] = "decoded",
    batch: int = 1,
    size: _options.Size | None = None,
    opset: int = _brightnet.oldest_opset,
    confidence: float = 0.25,
    nms: float = 0.45,
    numbers: Literal["", "kept", "scaled"] = "",
    replace: bool = False,
) -> pathlib.Path:
    """Writes the weights as an ONNX file, or as darknet's .cfg, .weights and .names, and returns the path of the file that has
    the weights. Without `out` it lies beside the weights. `batch` 0 is a dynamic one. An earlier export to ONNX is replaced;
    other files only with `replace`. `heads` to `nms` are for ONNX, `numbers` for darknet (docs/deploy.md)."""
    if out is None and isinstance(weights, _brightnet.Weights):
        raise _brightnet.InputError("export() has no place for weights that are in memory. Name a file with out.")
    ending = {"onnx": ".onnx", "darknet": ".weights"}.get(format)
    if ending is None:
        raise _brightnet.InputError(f"there is no format '{format}' to export to. There are onnx and darknet.")
    if format == "onnx":
        _refuse_idle("darknet", numbers=numbers != "")
    else:
        made_for_onnx = {"heads": heads != "decoded", "batch": batch != 1, "size": size is not None}
        _refuse_idle("onnx", **made_for_onnx, opset=opset != _brightnet.oldest_opset)
    if heads != "nms":
        _refuse_idle('onnx with heads="nms"', confidence=confidence != 0.25, nms=nms != 0.45)
    if out is not None and os.fspath(out).endswith("/"):
        raise _brightnet.InputError(f"out is '{out}', a folder. Name a file in it.")
    if out is not None and pathlib.Path(out).is_dir() and pathlib.Path(out).suffix != ending:
        raise _brightnet.InputError(f"out is '{out}', a folder. Name a file in it.")
    opened = open_weights(weights)
    if out is None:
        file = _brightnet.weights_file(cast(StrPath, weights)).with_suffix(ending)
    else:
        file = pathlib.Path(out)
        known = (".onnx", ".cfg", ".weights", ".names")
        file = file.with_suffix(ending) if file.suffix in known else file.with_name(file.name + ending)
    if format == "onnx":
        _refuse_to_replace(file, replace, file.exists() and _brightnet.is_onnx_export(file))
        _make_folder(file.parent)
        _brightnet.export_onnx(opened, file, heads, batch, _options.sides(size), opset, confidence, nms)
    else:
        for other in (".cfg", ".weights", ".names"):
            _refuse_to_replace(file.with_suffix(other), replace, False)
        _make_folder(file.parent)
        _brightnet.export_darknet(opened, file.parent, file.stem, numbers)
    return file


@_options.checked
def prune(
    weights: StrPath,
    out: StrPath,
    *,
    cfg: StrPath = "",
    names: StrPath = "",
    keep: float = 0.5,
    by: Literal["auto", "norm", "scale", "taylor"] = "auto",
    data: StrPath = "",
    multiple: int = 8,
    replace: bool = False,
) -> dict[str, Any]:
    """Removes channels of trained weights until a share `keep` of the FLOP is left, and writes the smaller network into the
    folder `out`. Returns the JSON of `brightnet prune`, and besides `model`, the path of its YAML, and `weights`, to be trained
    further: train(model=made["model"], weights=made["weights"]). `by` says what a channel matters (docs/deploy.md); "taylor",
    and "auto" if it is given, looks at training images of `data`."""
    answer, model, file = _brightnet.prune(
        os.fspath(weights), os.fspath(cfg), os.fspath(names), os.fspath(out), keep, by, os.fspath(data), multiple, replace
    )
    return {**json.loads(answer), "model": model, "weights": file}
