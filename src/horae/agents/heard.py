"""What a model says while it says it: told in pieces of some size, so that whoever waits sees that it is alive."""

from __future__ import annotations

from collections.abc import AsyncIterable
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.messages import PartDeltaEvent, PartEndEvent, PartStartEvent, TextPart, TextPartDelta

from horae.agents.tell import Tell
from horae.clock import SystemClock

PIECE_CHARS = 2000
PIECE_S = 1.0
SIGN_S = 5.0  # between signs of what is no text: thoughts, and calls that are being written


class Heard:
    """Of one run: the library's event handler."""

    def __init__(self, tell: Tell) -> None:
        self._tell, self._clock = tell, SystemClock()
        self._text, self._last = "", self._now()

    async def __call__(self, _: RunContext[Any], events: AsyncIterable[Any]) -> None:
        """Listen to one answer."""
        try:
            async for event in events:
                self._take(event)
        finally:
            self._out()

    def _take(self, event: object) -> None:
        if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
            self._text += event.part.content
        elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
            self._text += event.delta.content_delta
        elif isinstance(event, PartEndEvent):
            self._out()
        elif isinstance(event, PartDeltaEvent) and self._now() - self._last >= SIGN_S:
            self._last = self._now()
            self._tell.event("text", text="")
        if len(self._text) >= PIECE_CHARS or (self._text and self._now() - self._last >= PIECE_S):
            self._out()

    def _out(self) -> None:
        if self._text.strip():
            self._tell.event("text", text=self._text)
        self._text, self._last = "", self._now()

    def _now(self) -> float:
        return self._clock.reading().steady_s
