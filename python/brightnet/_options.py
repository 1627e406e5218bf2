"""Keywords as the library takes them."""

from __future__ import annotations

import difflib
import functools
import inspect
import json
import numbers
import os
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, ParamSpec, TypeVar, Union

from brightnet import _brightnet

StrPath = Union[str, "os.PathLike[str]"]
Size = Union[int, tuple[int, int]]
P = ParamSpec("P")
R = TypeVar("R")


def _text(value: object) -> str:
    """A value as an assignment has it. A path is its text whatever it contains; so is a str, unless it begins as YAML's or JSON's
    lists and mappings do."""
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    if isinstance(value, (list, tuple, dict)) or type(value).__module__ == "numpy":
        # YAML has no pairs of escapes for one character, as JSON has.
        return json.dumps(value, ensure_ascii=False, default=_plain)
    if isinstance(value, os.PathLike):
        return _quoted(os.fsdecode(value))
    text = str(value)
    return text if text.startswith(("[", "{")) else _quoted(text)


def _quoted(text: str) -> str:
    """Quotes are YAML's, which has no bytes but UTF-8: a path of others is taken as it stands, without them."""
    is_utf8 = not any("\udc80" <= letter <= "\udcff" for letter in text)
    return json.dumps(text, ensure_ascii=False) if is_utf8 else text


def _plain(value: Any) -> Any:
    """JSON's form of a list's element that is not JSON itself."""
    return value.tolist() if hasattr(value, "tolist") else os.fspath(value)


def assignments(function: Callable[..., Any], settings: Mapping[str, object], keys: Mapping[str, object]) -> list[str]:
    """Those of `settings` and of the keywords that are keys; other keywords are mistakes, and the nearest one is named."""
    texts: dict[str, str] = {}
    for key, value in [*settings.items(), *keys.items()]:
        if not isinstance(key, str) or ("." not in key and key not in _brightnet.config_keys()):
            raise _brightnet.InputError(_unknown(function, str(key)))
        _refuse_nul(_name(function), key, value)
        text = _text(value)
        if texts.setdefault(key, text) != text:
            raise _brightnet.InputError(
                f"{_name(function)}(): {key} is {texts[key]} in settings and {text} as a keyword. Leave one of the two out."
            )
    return [f"{key}={text}" for key, text in texts.items()]


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """An unknown keyword of this function is an InputError that names the nearest one, unless it takes settings; an argument of
    another type is a TypeError that says which."""
    signature = inspect.signature(function)
    known = signature.parameters
    takes_settings = any(p.kind is p.VAR_KEYWORD for p in known.values())
    hints: dict[str, Any] = {}

    @functools.wraps(function)
    def call(*arguments: P.args, **keywords: P.kwargs) -> R:
        for word in keywords:
            if word not in known and not takes_settings:
                raise _brightnet.InputError(_unknown(function, word))
        if not hints:
            hints.update(typing.get_type_hints(function))
        try:
            given = signature.bind(*arguments, **keywords).arguments
        except TypeError:
            return function(*arguments, **keywords)  # Python's own words for it name the function
        for word, value in given.items():
            wanted = _alternatives(hints.get(word, object))
            if known[word].kind is not known[word].VAR_KEYWORD and not any(_fits(value, kind) for kind in wanted):
                remedy = " A GPU is called 'cuda:0'." if word == "device" else ""
                words = " or ".join(_WORDS.get(kind, kind.__name__) for kind in wanted if kind is not type(None))
                raise TypeError(f"{_name(function)}(): {word} is {value!r} and must be {words}.{remedy}")
            if known[word].kind is not known[word].VAR_KEYWORD:
                _refuse_impossible(_name(function), word, value)
        return function(*arguments, **keywords)

    return call


def _refuse_impossible(function: str, word: str, value: object) -> None:
    """Raises InputError for a value of the right type that the library cannot take."""
    _refuse_nul(function, word, value)
    for number in value if isinstance(value, (tuple, list)) else (value,):
        if isinstance(number, numbers.Integral) and not -_LIMIT <= int(number) < _LIMIT:
            raise _brightnet.InputError(f"{function}(): {word} is {value!r}, which is out of range.")


def _refuse_nul(function: str, word: str, value: object) -> None:
    for text in value if isinstance(value, (tuple, list)) else (value,):
        if isinstance(text, (str, os.PathLike)) and "\0" in str(os.fspath(text)):
            raise _brightnet.InputError(f"{function}(): {word} is {value!r}, and no name has the character NUL.")


_LIMIT = 2**31  # the library's numbers

_WORDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "True or False",
    tuple: "(height, width)",
    os.PathLike: "a path",
    Callable: "a function",
    Sequence: "a list",
    Mapping: "a dictionary",
}


def _alternatives(hint: Any) -> list[Any]:
    """The classes of a hint, without their parameters; object for what is not looked at here."""
    if typing.get_origin(hint) in (Union, getattr(types, "UnionType", Union)):
        return [kind for one in typing.get_args(hint) for kind in _alternatives(one)]
    kind = typing.get_origin(hint) or hint
    return [str if kind is Literal else kind if isinstance(kind, type) and kind in (*_WORDS, type(None), _brightnet.Weights) else object]


def _fits(value: object, kind: Any) -> bool:
    if kind is tuple:
        return isinstance(value, (tuple, list)) and len(value) == 2 and all(_fits(side, int) for side in value)
    if kind is Sequence:  # a text's elements would be its letters
        return isinstance(value, Iterable) and not isinstance(value, (str, bytes))
    return isinstance(value, {int: numbers.Integral, float: numbers.Real}.get(kind, kind))


def _name(function: Callable[..., Any]) -> str:
    return function.__qualname__.partition(".")[0]  # the class's for __init__


def _unknown(function: Callable[..., Any], word: str) -> str:
    parameters = inspect.signature(function).parameters.values()
    known = {p.name: p.name for p in parameters if p.kind is not p.VAR_KEYWORD and p.name != "self"}
    remedy = f"It has {', '.join(known)}."
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        remedy = 'Values of the configuration are given by their keys: settings={"train.seed": 1}.'
        for key in _brightnet.config_keys():
            known.setdefault(key.rpartition(".")[2], f'settings={{"{key}": ...}}')
    nearest = difflib.get_close_matches(word, known, n=1) or [name for name in known if name.startswith(word)]
    if nearest:
        remedy = f"Did you mean {known[nearest[0]]}?"
    return f"{_name(function)}() has no keyword '{word}'. {remedy}"


def sides(size: Size | None) -> tuple[int, int]:
    """Height and width; 0 for None."""
    if size is None:
        return 0, 0
    height, width = size if isinstance(size, (tuple, list)) else (size, size)
    if height < 1 or width < 1:
        raise _brightnet.InputError(f"size is {size} and must be at least 1.")
    return int(height), int(width)


def natural(**given: int) -> None:
    """Raises InputError for negative ones, which the library would take for ones that were not given."""
    for word, value in given.items():
        if value < 0:
            raise _brightnet.InputError(f"{word} is {value} and must be at least 0.")


def size_text(size: Size | str | None) -> str:
    if size is None:
        return ""
    return "x".join(map(str, size)) if isinstance(size, (tuple, list)) else str(size)
