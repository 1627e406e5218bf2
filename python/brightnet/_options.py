"""Keywords as the library takes them."""

from __future__ import annotations

import difflib
import inspect
import json
import numbers
from collections.abc import Callable, Mapping
from typing import Any, Union

from brightnet import _brightnet

Size = Union[int, tuple[int, int]]


def _text(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    if isinstance(value, (list, tuple, dict)):
        return json.dumps(value)
    return str(value)


def settings(function: Callable[..., Any], given: Mapping[str, object]) -> list[str]:
    """The assignments for `train.minutes` and the like; other keywords are mistakes, and the nearest one is named."""
    for word in given:
        if "." not in word:
            raise _brightnet.InputError(_unknown(function, word))
    return [f"{key}={_text(value)}" for key, value in given.items()]


def _unknown(function: Callable[..., Any], word: str) -> str:
    parameters = inspect.signature(function).parameters.values()
    known = {p.name: p.name for p in parameters if p.kind is not p.VAR_KEYWORD and p.name != "self"}
    for key in _brightnet.config_keys():
        known.setdefault(key.rpartition(".")[2], f'**{{"{key}": ...}}')
    name = "Dataset" if function.__name__ == "__init__" else function.__name__
    nearest = difflib.get_close_matches(word, known, n=1)
    remedy = (
        f"Did you mean {known[nearest[0]]}?"
        if nearest
        else 'Values of the configuration are given by their keys: **{"train.seed": 1}.'
    )
    return f"{name}() has no keyword '{word}'. {remedy}"


def sides(size: Size | None) -> tuple[int, int]:
    """Height and width; 0 for None."""
    if size is None:
        return 0, 0
    if isinstance(size, tuple):
        return size
    return size, size


def size_text(size: Size | str | None) -> str:
    if size is None:
        return ""
    return "x".join(map(str, size)) if isinstance(size, tuple) else str(size)
