"""Tells the shim what an agent does: one JSON object a line, as `core.activity` says.

What is told is bounded: each text, and all of it together. Beyond that the trace is left out; what limits, money and later
runs depend on (`ALWAYS`) gets through all the same. A shim that is gone hears nothing, and nobody is told of it here: the
process group ends with it.

Lines are whole: one at a time, whichever thread tells.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from horae.agents.onward import CARRIED
from horae.clock import SystemClock
from horae.runners.shim.spool import PAYLOAD_BYTES_MAX

LINE_BYTES_MAX = PAYLOAD_BYTES_MAX - 1024  # a longer line is left out by the shim
TEXT_CHARS_MAX = 16_000
LONG_CHARS_MAX = 400_000  # of a prompt, and of what is watched
STATE_BYTES_MAX = LINE_BYTES_MAX - 64 * 1024  # of a state, as it is written: what is told beside it is short
BYTES_MAX = 4 * 1024 * 1024  # of the trace
LONG = {("prompt", "text"): LONG_CHARS_MAX, ("watched", "text"): LONG_CHARS_MAX, ("end", "state"): LINE_BYTES_MAX}
ALWAYS = frozenset({"prompt", "watched", "ask", "model", "usage", "end"})
FULL = "the record of this run is full: what it does from here on is not kept"


class Tell:
    """`key`s are words that must not be told by anybody: each is replaced where it stands."""

    def __init__(self, fd: int, keys: Iterable[str] = (), now: Callable[[], float] | None = None) -> None:
        clock = SystemClock()
        self._fd, self._lock, self._told, self._full = fd, threading.Lock(), 0, False
        self._keys = tuple(sorted({key for key in keys if len(key) >= 4}, key=len, reverse=True))
        self.carried: list[dict[str, Any]] = []
        """What must be told again by a run that goes on later."""
        self._now = now or (lambda: clock.now().timestamp())

    def event(self, kind: str, **values: Any) -> bool:
        """Tell it. Whether it is kept: False once there is too much."""
        said = {"kind": kind, "at": round(self._now(), 3)}
        said |= {key: self._clipped(value, _most(kind, key)) for key, value in values.items()}
        line = _line(said)
        if len(line) > LINE_BYTES_MAX:
            line = _line(_shortened(said, len(line)))
        with self._lock:
            if kind not in ALWAYS and self._told + len(line) > BYTES_MAX:
                if not self._full:
                    self._full = True
                    self._write(_line({"kind": "warning", "at": said["at"], "text": FULL}))
                return False
            if kind not in ALWAYS:
                self._told += len(line)
            if kind in CARRIED:
                self.carried.append(said)
            self._write(line)
        return True

    def clean(self, text: str) -> str:
        """A text without any of the keys."""
        for key in self._keys:
            text = text.replace(key, "[key]")
        return text

    def _clipped(self, value: Any, most: int) -> Any:
        if isinstance(value, str):
            value = self.clean(value)
            return value if len(value) <= most else value[: most - 1] + "…"
        if isinstance(value, Mapping):
            inner = cast("Mapping[Any, Any]", value)
            return {str(key): self._clipped(one, most) for key, one in inner.items()}
        if isinstance(value, list | tuple):
            return [self._clipped(one, most) for one in cast("Iterable[Any]", value)]
        return value

    def _write(self, line: bytes) -> None:
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[os.write(self._fd, rest) :]
        except OSError:
            return  # nobody hears it any more


def is_too_long(state: str) -> bool:
    """Whether a state cannot be told as a whole, and so not at all."""
    return len(_line({"state": state})) > STATE_BYTES_MAX


def _most(kind: str, key: str) -> int:
    return LONG.get((kind, key), TEXT_CHARS_MAX)


def _shortened(said: dict[str, Any], size: int) -> dict[str, Any]:
    """Without a part of its longest text. A state is whole or of no use."""
    key = max((key for key, value in said.items() if isinstance(value, str)), key=lambda key: len(said[key]))
    if key == "state":
        return said | {key: None}
    share = len(json.dumps(said[key], ensure_ascii=False).encode("utf-8", "replace"))
    keep = max(0, share - (size - LINE_BYTES_MAX) - 64) / share
    return said | {key: said[key][: int(len(said[key]) * keep * 0.9)] + "…"}


def _line(said: Mapping[str, Any]) -> bytes:
    return json.dumps(said, ensure_ascii=False, separators=(",", ":"), default=str).encode("utf-8", "replace") + b"\n"
