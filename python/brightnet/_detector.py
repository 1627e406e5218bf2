"""Detector and what it finds."""

from __future__ import annotations

import itertools
import numbers
import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol, Union, overload

import numpy as np
from numpy.typing import NDArray

from brightnet import _brightnet, _options
from brightnet._models import open_weights
from brightnet._options import StrPath


class PillowImage(Protocol):
    """An image of Pillow."""

    @property
    def mode(self) -> str: ...
    def convert(self, mode: str, /) -> Any: ...


InMemory = Union["NDArray[np.uint8]", PillowImage]


def _pixels(image: Any) -> NDArray[np.uint8]:
    """The pixels of an image of Pillow, as those of a file would be: transparent ones are blended over black."""
    if image.mode.startswith(("I", "F")):  # convert() would cut their values off at 255
        raise _brightnet.InputError(
            f"an image of Pillow has the mode {image.mode}, more than 8 bits a pixel. Give the path of its file, or an array of "
            "uint8 with the values that you want."
        )
    if image.mode == "L" or (image.mode == "RGB" and "transparency" not in image.info):
        return np.asarray(image)
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        rgba = np.asarray(image.convert("RGBA")).astype(np.uint16)
        return ((rgba[..., :3] * rgba[..., 3:] + 127) // 255).astype(np.uint8)
    return np.asarray(image.convert("RGB"))


def _place(source: Any) -> str:
    """A path, as text, or a camera's number."""
    return os.fsdecode(source) if isinstance(source, (str, os.PathLike)) else str(source)


class _Input(NamedTuple):
    pixels: NDArray[np.uint8]
    rgb: NDArray[np.uint8]  # the same in RGB, or grey
    bgr: bool = False  # whether the pixels are BGR
    file: str = ""
    frame: int = -1


class Detections:
    """The objects in one image, best first."""

    def __init__(
        self,
        found: tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.int64]],
        class_names: list[str],
        image: NDArray[np.uint8],
        file: str = "",
        frame: int = -1,
    ) -> None:
        #: n × 4, corners x1, y1, x2, y2 in pixels of the image.
        self.boxes: NDArray[np.float32] = found[0]
        #: n, in (0, 1].
        self.scores: NDArray[np.float32] = found[1]
        #: n, indices into class_names.
        self.classes: NDArray[np.int64] = found[2]
        self.class_names = class_names
        #: The picture, RGB or grey.
        self.image = image
        #: The image's or video's path; "" for one that was in memory.
        self.file = file
        #: Its number in a video, from 0; -1 for an image by itself.
        self.frame = frame

    @property
    def names(self) -> NDArray[np.str_]:
        """n, the name of each object's class."""
        return np.array(self.class_names, dtype=np.str_)[self.classes]

    def __len__(self) -> int:
        return len(self.scores)

    def __repr__(self) -> str:
        names, counts = np.unique(self.names, return_counts=True)
        found = ", ".join(f"{count} {name}" for name, count in zip(names, counts)) or "nothing"
        where = f" in {self.file}" if self.file else ""
        return f"<brightnet.Detections: {found}{where}>"

    def plot(self) -> NDArray[np.uint8]:
        """The picture with boxes, names and scores, RGB, as `brightnet detect` draws them."""
        return _brightnet.draw_objects(self.image, self.boxes, self.scores, self.classes, self.class_names)

    def _repr_png_(self) -> bytes:
        return _brightnet.encode_png(self.plot())

    def to_supervision(self) -> Any:
        """The same as `supervision.Detections`, with which that library draws, counts and tracks."""
        import supervision

        return supervision.Detections(
            xyxy=self.boxes,
            confidence=self.scores,
            class_id=self.classes,
            data={"class_name": self.names},
        )


class Detector:
    """A trained network on a device.

        detector = brightnet.Detector("best.safetensors")
        found = detector("image.jpg")

    ``weights`` is what open_weights() takes, or what it returned. ``device`` is "auto", "cpu", "cuda" or "cuda:N"; a GPU that
    was asked for is never replaced by the CPU. Objects below ``confidence`` are left out; ``nms`` is the IoU above which one of
    two boxes is suppressed (None: the model's own, or 0.45). ``size`` of the network's input (None: as recorded in the weights);
    ``batch``: images that go through it at once; ``classes``: names or numbers of those to detect.

    Calls from several threads are queued. Raises InputError for options that cannot be used, DeviceError when the device
    cannot be used.
    """

    @_options.checked
    def __init__(
        self,
        weights: StrPath | _brightnet.Weights,
        *,
        cfg: StrPath = "",
        names: StrPath = "",
        device: str = "auto",
        precision: str = "auto",
        confidence: float = 0.25,
        nms: float | None = None,
        max_objects: int = 0,
        size: _options.Size | None = None,
        batch: int = 1,
        classes: Sequence[str | int] = (),
    ) -> None:
        if nms is not None and nms < 0:
            raise _brightnet.InputError(f"nms is {nms} and must be from 0 to 1.")
        _options.natural(max_objects=max_objects)
        self.weights = open_weights(weights, cfg=cfg, names=names)
        self._batch = batch
        self._detector = _brightnet.Detector(
            self.weights,
            device,
            precision,
            confidence,
            -1.0 if nms is None else nms,
            max_objects,
            _options.sides(size),
            batch,
            [str(one) for one in classes],
        )

    @overload
    def __call__(self, source: str | os.PathLike[str] | int | np.integer[Any], *, frames: int = 0, every: int = 1) -> Any: ...
    @overload
    def __call__(self, source: InMemory, *, bgr: bool = False) -> Detections: ...
    @overload
    def __call__(self, source: Sequence[StrPath | InMemory], *, bgr: bool = False) -> list[Detections]: ...
    @_options.checked
    def __call__(self, source: Any, *, bgr: bool = False, frames: int = 0, every: int = 1) -> Any:
        """Detects the objects in an image, in several, or in a video.

        An image is a path, a uint8 array of height × width or height × width × 3, or one of Pillow; what comes back is its
        Detections. For a list of images it is the list of theirs. Arrays are RGB; those of OpenCV are BGR, which ``bgr=True``
        says. A path may also be a video, a folder, a pattern ("*.jpg"), a list of images (.txt), a camera's number or a stream's
        address: then an iterator over the Detections of one picture after the other comes back, for at most ``frames`` (0: all),
        and only ``every`` Nth, of a video. Images in folders that cannot be read are skipped with a warning.
        """
        if isinstance(source, (bool, np.bool_)):
            raise _brightnet.InputError(f"{source} is neither an image nor a path. A camera is given by its number, 0 or 1.")
        if isinstance(source, (str, os.PathLike, numbers.Integral)):
            pictures = _brightnet.Frames(self.weights, _place(source), frames, every)
            stream = self._stream(pictures)
            return next(stream) if pictures.is_image else stream
        if frames or every != 1:
            raise _brightnet.InputError("frames and every are for videos, and these images are none. Leave them out.")
        if isinstance(source, (list, tuple)):
            return self._detect([self._image(one, bgr) for one in source])
        return self._detect([self._image(source, bgr)])[0]

    def _stream(self, pictures: _brightnet.Frames) -> Iterator[Detections]:
        at_once = 1 if pictures.live else self._batch
        coming = iter(pictures.next, None)
        while some := list(itertools.islice(coming, at_once)):
            yield from self._detect([_Input(picture, picture, file=file, frame=frame) for picture, file, frame in some])

    def _detect(self, images: list[_Input]) -> list[Detections]:
        names = self.weights.classes
        results: list[Detections] = []
        for bgr, group in itertools.groupby(images, key=lambda image: image.bgr):
            # Between two batches Python handles signals, such as Ctrl-C.
            while batch := list(itertools.islice(group, self._batch)):
                found = self._detector.detect([image.pixels for image in batch], bgr)
                results += [
                    Detections(objects, names, image.rgb, image.file, image.frame)
                    for objects, image in zip(found, batch)
                ]
        return results

    def _image(self, source: Any, bgr: bool) -> _Input:
        if isinstance(source, (str, os.PathLike)):
            pictures = _brightnet.Frames(self.weights, _place(source), 0, 1)
            if not pictures.is_image:
                raise _brightnet.InputError(
                    f"{_place(source)}: this is not one image. A list has images alone; give videos and folders by themselves."
                )
            picture, file, frame = pictures.next() or (None, "", -1)
            assert picture is not None
            return _Input(picture, picture, file=file, frame=frame)
        if hasattr(source, "convert") and hasattr(source, "mode"):
            rgb = _pixels(source)
            return _Input(rgb, rgb)
        pixels = np.asarray(source)
        if not isinstance(source, np.ndarray) and pixels.dtype.kind in "OSU":
            raise _brightnet.InputError(
                f"a {type(source).__name__} is no image. Give a path, an array of uint8 or an image of Pillow; several in a list."
            )
        if pixels.dtype != np.uint8 or pixels.ndim not in (2, 3):
            raise _brightnet.InputError(
                f"an image has the type {pixels.dtype} and the shape {pixels.shape}. It must be uint8, from 0 to 255, and height "
                "× width or height × width × 3."
            )
        return _Input(pixels, pixels[..., ::-1] if bgr and pixels.ndim == 3 else pixels, bgr)
