"""Blocking work on a thread of its own, for as long as somebody waits for it: a coroutine, or whoever has no loop.

The loop's own threads are few and the gateway needs them, for whoever asks how it is and for the files of runs; it also waits
for them when it stops. What talks to the outside may block for minutes, and for longer than it has promised. So each such
piece of work has a thread that nobody else needs. Given up, it goes on by itself until its own bound, and ends with the
process at the latest.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


async def aside(work: Callable[..., T], *args: Any) -> T:
    """What `work` returns, or raises."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def tell(settle: Callable[[Any], None], what: object) -> None:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(lambda: None if answer.done() else settle(what))

    def run() -> None:
        try:
            found = work(*args)
        except BaseException as error:  # whoever waits gets it
            tell(answer.set_exception, error)
        else:
            tell(answer.set_result, found)

    threading.Thread(target=run, name="aside", daemon=True).start()
    return await answer


class Bounded:
    """Work of one kind that may hang, for callers without a loop: they wait for so long, and one thread is spent at most.

    As long as a piece of work hangs that was given up, no other is begun: whatever holds it up would hold that one too.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def __call__(self, work: Callable[[], T]) -> T:
        """What it returns, or raises. Raises TimeoutError when it is given up."""
        found: list[T] = []
        failed: list[BaseException] = []

        def run() -> None:
            try:
                found.append(work())
            except BaseException as error:  # whoever waits gets it
                failed.append(error)

        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                raise TimeoutError
            self._thread = threading.Thread(target=run, name="bounded", daemon=True)
            self._thread.start()
            self._thread.join(self._seconds)
            if self._thread.is_alive():
                raise TimeoutError
        if failed:
            raise failed[0]
        return found[0]
