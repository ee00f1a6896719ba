"""Being told when another process has written something that may be due: LISTEN, on a connection and a thread of its own.

It only ever makes things happen sooner. Whoever is called looks at the store, and looks at times by itself as well; so
one call stands for any number of notifications, and after a time without connection there is one call in any case.
"""

from __future__ import annotations

import logging
import os
import select
import threading
from collections.abc import Callable
from contextlib import suppress

import psycopg

from horae.store.postgresdb import CHANNEL, connect
from horae.store.postgreserrors import explain, shown

log = logging.getLogger("horae.store")

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.25, 10.0


class Listener:
    """Calls `told` on each notification until it is closed, whatever becomes of the server meanwhile."""

    def __init__(self, url: str, told: Callable[[], object]) -> None:
        self._url = url
        self._told = told
        self._closing, self._close = os.pipe()
        self._thread = threading.Thread(target=self._live, name="horae-listener", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening; returns when nobody is called any more."""
        if self._close >= 0:
            os.close(self._close)  # which wakes whoever waits for the other end
            self._close = -1
            self._thread.join()
            os.close(self._closing)

    def _live(self) -> None:
        pause, lost = FIRST_PAUSE_S, False
        while True:
            try:
                with connect(self._url).link as link:
                    link.execute(f"LISTEN {CHANNEL}")
                    if lost:
                        log.info("connected again: changes elsewhere are noticed at once")
                    pause, lost = FIRST_PAUSE_S, False
                    self._listen(link)
                return
            except psycopg.Error as error:
                if not lost:
                    log.warning("changes elsewhere are noticed later: %s", explain(error, shown(self._url)).message)
                lost = True
            if self._closed(pause):
                return
            pause = min(pause * 2, LONGEST_PAUSE_S)

    def _listen(self, link: psycopg.Connection[object]) -> None:
        """Call once for whatever was missed, then for each batch that arrives. Returns when closed."""
        while True:
            with suppress(RuntimeError):  # the event loop that was to be woken is closed: so shall we be, soon
                self._told()
            while not list(link.notifies(timeout=0)):
                ready, _, _ = select.select([link, self._closing], [], [])
                if self._closing in ready:
                    return

    def _closed(self, within_s: float) -> bool:
        ready, _, _ = select.select([self._closing], [], [], within_s)
        return bool(ready)
