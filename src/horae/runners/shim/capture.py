"""What a program printed on one stream, within a bound: the beginning and the end are kept, the middle is counted.

The end matters most (that is where errors are), the beginning next (that is where the work is named). What is more than
that goes to a file, whole.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Capture:
    """One stream of one run. Never holds more than twice `kept` bytes."""

    def __init__(self, kept: int, spill: Callable[[], int | None], most: int | None = None) -> None:
        """`spill` opens the file for what is more than can be kept; None where that cannot be.

        It takes `most` bytes: what prints without end, and does not end at once when asked, fills no disk.
        """
        self._most = most
        self._kept = kept
        self._half = max(1, kept // 2)
        self._head = bytearray()
        self._tail = bytearray()
        self._told = 0
        self._spill = spill
        self._file: int | None = None
        self._spilled = False
        self.written = 0
        """How much of it is in the file."""
        self.total = 0

    def feed(self, data: bytes) -> None:
        """Take in what was read."""
        whole = data
        self.total += len(data)
        if (room := self._half - len(self._head)) > 0:
            self._head += data[:room]
            data = data[room:]
        if self.total > self._kept and not self._spilled:
            self._spilled = True
            self._file = self._spill()
            whole = bytes(self._head + self._tail + data)
        self._write(whole)
        self._tail += data
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half]

    def fresh(self) -> bytes:
        """What of the beginning was not told yet."""
        data, self._told = bytes(self._head[self._told :]), len(self._head)
        return data

    def tail(self) -> bytes:
        """The end; what lies between the beginning and it was cut."""
        return bytes(self._tail[-self._half :])

    def close(self) -> None:
        """No more comes."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _write(self, data: bytes) -> None:
        if self._file is not None:
            try:
                view = memoryview(data)[: None if self._most is None else max(0, self._most - self.written)]
                while view:
                    done = os.write(self._file, view)
                    self.written += done
                    view = view[done:]
            except OSError:  # no room for it: what is kept goes into the record all the same
                self.close()
