"""How much of a request is read: what says that it is longer is not begun, what turns out longer is broken off."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.types import Message, Receive

BODY_BYTES_MAX = 768 * 1024  # a job's file may have 256 KiB, and JSON writes one byte as up to six
HOOK_BYTES_MAX = 128 * 1024  # a hook has a limit of its own below this


class TooLarge(HTTPException):
    """More came than is read. Of the framework's kind, since it reads bodies itself and takes others for faults of JSON."""


class Bounded:
    """`receive` that gives up. One that sends slowly holds up nobody but itself."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive = receive
        self._left = most
        self._most = most

    async def __call__(self) -> Message:
        """The next piece. Raises TooLarge."""
        message = await self._receive()
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            if self._left < 0:
                raise TooLarge(413, f"a request may have {self._most} bytes, and this one has more")
        return message


def says_too_much(length: str | None, most: int) -> bool:
    """Whether a request says of itself that it is longer, or says something that is no length."""
    return length is not None and (not length.isascii() or not length.isdecimal() or int(length[:18]) > most)
