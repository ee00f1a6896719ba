"""A thread that is bound by Landlock for ever, and starts the programs that are to be bound too."""

from __future__ import annotations

import _thread
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from horae.runners.shim.landlock import Walls


class Walled:
    """Made anew when the walls would come out otherwise. Raises OSError where they cannot be built."""

    def __init__(self, walls: Walls) -> None:
        self.key = walls.key()
        self._walls = walls
        self._go, self._done = _thread.allocate_lock(), _thread.allocate_lock()
        self._go.acquire()
        self._done.acquire()
        self._asked: tuple[tuple[Any, ...], dict[str, Any]] | None = None
        self._answer: int | OSError | ValueError = 0
        _thread.start_new_thread(self._serve, ())
        self._done.acquire()
        if isinstance(self._answer, OSError):
            raise self._answer

    def spawn(self, *args: Any, **options: Any) -> int:
        """`os.posix_spawn`, from behind the walls."""
        self._asked = (args, options)
        self._go.release()
        self._done.acquire()
        if isinstance(self._answer, int):
            return self._answer
        raise self._answer

    def close(self) -> None:
        """Let the thread end."""
        self._asked = None
        self._go.release()

    def _serve(self) -> None:
        try:
            self._walls.bind()
        except OSError as error:
            self._answer = error
            self._done.release()
            return
        self._done.release()
        while True:
            self._go.acquire()
            if self._asked is None:
                return
            args, options = self._asked
            try:
                self._answer = os.posix_spawn(*args, **options)
            except (OSError, ValueError) as error:
                self._answer = error
            self._done.release()
