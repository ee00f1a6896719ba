"""What a program printed, within a bound: the beginning and the end are kept, the middle is counted.

The end matters most (that is where errors are), the beginning next (that is where the work is named).
"""

from __future__ import annotations


class Capture:
    """One stream of one run. Never holds more than `limit` bytes and a little."""

    def __init__(self, limit: int) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._half = max(1, limit // 2)
        self.total = 0

    def feed(self, data: bytes) -> None:
        """Take in what was read."""
        self.total += len(data)
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half]

    def text(self) -> tuple[str, int]:
        """The kept text and how many bytes were cut out of its middle. Undecodable bytes become U+FFFD, NUL its picture."""
        tail = self._tail[-self._half :]
        cut = self.total - len(self._head) - len(tail)
        if cut == 0:
            return _decode(self._head + tail), 0
        return f"{_decode(self._head)}\n[... {cut} bytes cut ...]\n{_decode(tail)}", cut


def _decode(data: bytes | bytearray) -> str:
    return data.decode("utf-8", "replace").replace("\0", "\u2400")
