"""Keywords as the library takes them."""

from __future__ import annotations

import difflib
import functools
import inspect
import json
import numbers
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar, Union

from brightnet import _brightnet

Size = Union[int, tuple[int, int]]
P = ParamSpec("P")
R = TypeVar("R")


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
        if "." not in word and word not in _brightnet.config_keys():
            raise _brightnet.InputError(_unknown(function, word))
    return [f"{key}={_text(value)}" for key, value in given.items()]


def names_nearest(function: Callable[P, R]) -> Callable[P, R]:
    """An unknown keyword of this function, which takes no settings, is an InputError that names the nearest one."""
    known = inspect.signature(function).parameters

    @functools.wraps(function)
    def call(*arguments: P.args, **keywords: P.kwargs) -> R:
        for word in keywords:
            if word not in known:
                raise _brightnet.InputError(_unknown(function, word))
        return function(*arguments, **keywords)

    return call


def _unknown(function: Callable[..., Any], word: str) -> str:
    parameters = inspect.signature(function).parameters.values()
    known = {p.name: p.name for p in parameters if p.kind is not p.VAR_KEYWORD and p.name != "self"}
    remedy = f"It has {', '.join(known)}."
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        remedy = 'Values of the configuration are given by their keys: **{"train.seed": 1}.'
        for key in _brightnet.config_keys():
            known.setdefault(key.rpartition(".")[2], f'**{{"{key}": ...}}')
    nearest = difflib.get_close_matches(word, known, n=1) or [name for name in known if name.startswith(word)]
    if nearest:
        remedy = f"Did you mean {known[nearest[0]]}?"
    name = function.__qualname__.partition(".")[0]  # of a class, for its __init__
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
