"""The library's messages in Python's logging, and the progress line that they must not tear."""

from __future__ import annotations

import atexit
import logging
import shutil
import sys
import time
from typing import TextIO, cast

from brightnet import _brightnet
from brightnet._values import Step

logger = logging.getLogger("brightnet")


class ProgressLine:
    """One line that is rewritten, in a terminal or a notebook; nothing where neither is."""

    _shown: ProgressLine | None = None

    def __init__(self, shows: bool | None) -> None:
        notebook = "ipykernel" in sys.modules
        # None where the process was started without it.
        stream: TextIO | None = sys.stdout if notebook else sys.stderr
        self._on = stream is not None and not getattr(stream, "closed", False) and ((notebook or stream.isatty()) if shows is None else shows)
        self._stream = cast(TextIO, stream)
        self._pause = 0.5 if notebook else 0.1
        self._last = 0.0
        self._began = time.monotonic()
        self._first: int | None = None
        self._text = self._scores = ""

    def __enter__(self) -> ProgressLine:
        if self._on:
            ProgressLine._shown = self
        return self

    def __exit__(self, *_: object) -> None:
        ProgressLine._shown = None
        if self._text:
            self._print("\n")

    def step(self, step: Step) -> None:
        if not self._on:
            return
        now = time.monotonic()
        if self._first is None:
            self._first, self._began = step["iteration"], now
        done = step["step"] == step["steps"]
        if now - self._last < self._pause and not done:
            return
        self._last = now
        speed = (step["iteration"] - self._first) / max(now - self._began, 1e-9)
        self._write(line_of(step, speed, self._scores, self._bars()))

    def scores(self, AP50: float) -> None:
        self._scores = f"  AP50 {AP50:.3f}"

    def _bars(self) -> str:
        encoding = (getattr(self._stream, "encoding", None) or "ascii").lower()
        return " ▏▎▍▌▋▊▉█" if encoding.startswith("utf") else " #"

    def _write(self, text: str) -> None:
        width = shutil.get_terminal_size((120, 24)).columns - 1
        text = text[:width]
        self._print("\r" + text + " " * max(0, len(self._text) - len(text)))
        self._text = text

    def _print(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # the terminal is gone, or somebody closed the stream; the run goes on
            self._on = False

    @classmethod
    def clear(cls) -> None:
        line = cls._shown
        if line and line._text:
            line._print("\r" + " " * len(line._text) + "\r")
            line._text = ""
            line._last = 0.0


def line_of(step: Step, speed: float, scores: str, bars: str) -> str:
    """`epoch 3/50  42%|████▏     | 26/62  loss 4.31  AP50 0.610  3.1 steps/s  4 min left`"""
    cells = 10
    share = step["step"] / max(step["steps"], 1)
    eighths = int(share * cells * (len(bars) - 1))
    full, part = divmod(eighths, len(bars) - 1)
    bar = (bars[-1] * full + (bars[part] if full < cells else "")).ljust(cells)
    of = f"/{step['epochs']}" if step["epochs"] else ""
    left = f"  {_duration(step['seconds_left'])} left" if step["seconds_left"] >= 0 else ""
    return (
        f"epoch {step['epoch']}{of} {share:4.0%}|{bar}| {step['step']}/{step['steps']}"
        f"  loss {step['loss']:.3g}{scores}  {speed:.3g} steps/s{left}"
    )


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def _deliver(level: int, message: str) -> None:
    if logger.isEnabledFor(level):
        ProgressLine.clear()
        logger.log(level, "%s", message)


_brightnet.set_log_handler(_deliver)
atexit.register(_brightnet.set_log_handler, None)
