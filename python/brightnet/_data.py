"""Data sets: check() and Dataset."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from brightnet import _brightnet, _options
from brightnet._options import StrPath

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@_options.checked
def check(data: StrPath, *, settings: Mapping[str, object] = {}, **keys: object) -> dict[str, Any]:
    """Decodes every image and checks every label: the JSON of `brightnet data check`, and `usable`, which is False where
    training would stop or lose an image. Raises InputError for what leaves nothing to read."""
    usable, _, answer = _brightnet.check_data(os.fspath(data), _options.assignments(check, settings, keys))
    return {"usable": usable, **cast("dict[str, Any]", json.loads(answer))}


@dataclasses.dataclass(frozen=True)
class Batch:
    """Images as a network sees them, and the objects in them.

    The arrays own their memory together with whatever was made from them (a view, a tensor by ``torch.from_dlpack``): they stay
    as they are when later batches come, and after the Dataset is gone. Nothing was copied to make them."""

    #: uint8, images × height × width × channels, RGB or grey.
    images: NDArray[np.uint8]
    #: float32, objects × 6: the image's number in the batch, the class, and the box's centre, width and height as fractions.
    targets: NDArray[np.float32]
    #: From 0.
    epoch: int
    step: int


class _Batches:
    """Threads may share it: each batch comes to one of them. Nothing here holds a batch while the next one is made."""

    def __init__(self, batches: _brightnet.TrainingBatches) -> None:
        self._batches = batches

    def __iter__(self) -> _Batches:
        return self

    def __next__(self) -> Batch:
        made = self._batches.next()
        if made is None:
            raise StopIteration
        return Batch(*made)


#: Keys of the configuration that Dataset has keywords for.
_KEYWORDS = {"train.batch": "batch", "train.size": "size", "train.epochs": "epochs"}


class Dataset:
    """The augmented batches that `brightnet train` would train on with the same seed, for other trainers too.

    ``data`` is what train() takes, ``size`` one number or (height, width) of the images. Values of the configuration are given
    by their keys: ``settings={"augment.mosaic": 0, "train.seed": 3, "loader.workers": 4}``; those that have no effect on
    batches, as "train.sizes", are errors. What train() chooses by itself is not chosen here: without "augment.mosaic_off" the
    last tenth of the epochs has no mosaics. Threads prepare the batches ahead, without the GIL. Iterating gives all epochs, one
    after the other, and iterating again the same ones once more.

    ``for batch in dataset: images = torch.from_dlpack(batch.images)``
    """

    @_options.checked
    def __init__(
        self,
        data: StrPath,
        *,
        batch: int = 16,
        size: _options.Size = 416,
        epochs: int = 1,
        settings: Mapping[str, object] = {},
        **keys: object,
    ) -> None:
        assignments = _options.assignments(Dataset.__init__, settings, keys)
        for key in (settings.keys() | keys.keys()) & _KEYWORDS.keys():
            raise _brightnet.InputError(f"Dataset() has a keyword for {key}: give {_KEYWORDS[key]} instead.")
        self._options = (os.fspath(data), assignments, batch, _options.sides(size), epochs)
        first = _brightnet.TrainingBatches(*self._options)
        self._first: _brightnet.TrainingBatches | None = first
        #: By class number.
        self.classes: list[str] = first.classes
        self.steps_per_epoch: int = first.steps_per_epoch
        self._length = epochs * self.steps_per_epoch

    def __len__(self) -> int:
        """Batches of all epochs."""
        return self._length

    def __iter__(self) -> Iterator[Batch]:
        batches, self._first = self._first or _brightnet.TrainingBatches(*self._options), None
        return _Batches(batches)
