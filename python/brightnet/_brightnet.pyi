import pathlib
from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brightnet._values import Metrics

__version__: str
oldest_opset: int

class Error(RuntimeError): ...
class InputError(Error): ...
class DeviceError(Error): ...

class Weights:
    """A network's description, its class names and its values in memory."""

    @property
    def model(self) -> str: ...
    @property
    def classes(self) -> list[str]: ...
    @property
    def input_size(self) -> tuple[int, int]: ...
    @property
    def channels(self) -> int: ...
    @property
    def parameters(self) -> int: ...
    @property
    def training(self) -> dict[str, str]: ...

class Detector:
    def __init__(
        self,
        weights: Weights,
        device: str,
        precision: str,
        confidence: float,
        nms: float,
        max_objects: int,
        size: tuple[int, int],
        batch: int,
        classes: list[str],
    ) -> None: ...
    def detect(
        self, images: list[NDArray[np.uint8]], bgr: bool
    ) -> list[tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.int64]]]: ...

class Frames:
    def __init__(self, weights: Weights, source: str | PathLike[str], frames: int, every: int) -> None: ...
    @property
    def is_image(self) -> bool: ...
    @property
    def live(self) -> bool: ...
    def next(self) -> tuple[NDArray[np.uint8], str, int] | None: ...

class TrainingBatches:
    def __init__(
        self, data: str | PathLike[str], settings: list[str], batch: int, size: tuple[int, int], epochs: int
    ) -> None: ...
    def next(self) -> tuple[NDArray[np.uint8], NDArray[np.float32], int, int] | None: ...
    @property
    def classes(self) -> list[str]: ...
    @property
    def steps_per_epoch(self) -> int: ...

def set_log_handler(handler: Callable[[int, str], object] | None) -> None: ...
def config_keys() -> list[str]: ...
def describe_models() -> str: ...
def plan_memory(
    model: str | PathLike[str],
    data: str | PathLike[str],
    settings: list[str],
    device: str,
    precision: str,
    batch: int,
    classes: int,
    size: tuple[int, int],
    device_memory: str,
) -> str: ...
def weights_file(weights: str | PathLike[str]) -> pathlib.Path: ...
def open_weights(
    weights: str | PathLike[str], cfg: str | PathLike[str], names: str | PathLike[str], classes: list[str]
) -> Weights: ...
def export_onnx(
    weights: Weights,
    file: str | PathLike[str],
    heads: str,
    batch: int,
    size: tuple[int, int],
    opset: int,
    confidence: float,
    nms: float,
) -> None: ...
def is_onnx_export(file: str | PathLike[str]) -> bool: ...
def export_darknet(weights: Weights, folder: str | PathLike[str], name: str, numbers: str) -> None: ...
def prune(
    weights: str | PathLike[str],
    cfg: str | PathLike[str],
    names: str | PathLike[str],
    out: str | PathLike[str],
    keep: float,
    by: str,
    data: str | PathLike[str],
    multiple: int,
    replace: bool,
) -> tuple[str, pathlib.Path, pathlib.Path]: ...
def draw_objects(
    image: NDArray[np.uint8],
    boxes: NDArray[np.float32],
    scores: NDArray[np.float32],
    classes: NDArray[np.int64],
    names: list[str],
) -> NDArray[np.uint8]: ...
def encode_png(image: NDArray[np.uint8]) -> bytes: ...
def check_data(data: str | PathLike[str], settings: list[str]) -> tuple[bool, str, str]: ...
def train(
    config: str | PathLike[str],
    model: str | PathLike[str],
    data: str | PathLike[str],
    settings: list[str],
    fold: str,
    precision: str,
    epochs: int,
    size: str,
    batch: int,
    weights: str | PathLike[str],
    weights_cfg: str | PathLike[str],
    weights_partial: bool,
    resume: bool,
    folder: str | PathLike[str],
    out: str | PathLike[str],
    device: str,
    no_graph: bool,
    tell: Callable[[str, Any], bool],
) -> dict[str, Any]: ...
def evaluate(
    weights: Weights,
    data: str | PathLike[str],
    split: str,
    settings: list[str],
    device: str,
    precision: str,
    batch: int,
    size: tuple[int, int],
) -> Metrics: ...
