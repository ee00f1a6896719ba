"""A thread that is bound by Landlock, and does a shim's work for as long as the walls are right.

What it starts is bound too. The main thread stays free, and does for it what it may not do itself (`free`). To hand each
program over to a bound thread would cost two changes of threads for each run; like this a run has none.
"""

from __future__ import annotations

import _thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from horae.runners.shim.landlock import Walls


class Bound:
    """One such thread. `work` is called once."""

    def __init__(self, walls: Walls) -> None:
        walls.look()
        self.key = walls.key()
        """Another one means that the walls would come out otherwise now."""
        self.used = False
        """Whether it has begun anything: what it was made for is right for it, whatever has changed since."""
        self._walls = walls
        self._asked, self._answered = _thread.allocate_lock(), _thread.allocate_lock()
        self._asked.acquire()
        self._answered.acquire()
        self._call: Callable[[], int | None] | None = None
        self._answer: int | None = None
        self._failed: BaseException | None = None

    def work(self, work: Callable[[], None]) -> None:
        """Have it done, and meanwhile do here what it asks for. Raises what it raises, and OSError without walls."""
        _thread.start_new_thread(self._live, (work,))
        while True:
            self._asked.acquire()
            if self._call is None:
                break
            self._answer = self._call()
            self._answered.release()
        if self._failed is not None:
            raise self._failed

    def free(self, call: Callable[[], int | None]) -> int | None:
        """Have something done by the thread that is not bound."""
        self._call = call
        self._asked.release()
        self._answered.acquire()
        return self._answer

    def _live(self, work: Callable[[], None]) -> None:
        try:
            self._walls.bind()
            work()
        except BaseException as error:  # the border between two threads
            self._failed = error
        self._call = None
        self._asked.release()
