"""Notice edits of job files as they happen: the system tells, a thread hands it on.

The net below it is a look at the whole folder: now and then, since an event can be lost; and every minute where the
system cannot watch at all (a network file system, no watches left), which is said in the log.

Whoever looks at the folder after `start` has returned misses nothing: what changes later is told. The library's `watch`
does not say when it has begun to, so the class beneath it is used.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator

from watchfiles._rust_notify import RustNotify  # documented by it for this

from horae.store.jobscan import slug_in

SETTLE_MS = 100  # an editor writes in several steps; the watching library also looks that often whether to stop
SURVEY_EVERY_MS = 600_000  # of quiet: 100,000 files cost half a second to look at, under a thousandth of that time
POLL_S = 60.0  # where nothing can be watched
AWAY_S = 0.2  # while the folder is away: a fresh checkout puts it back in a moment

log = logging.getLogger("horae.watch")


class FolderWatch:
    """Calls `changed(slugs)` on a thread of its own when `*.md` files change; None stands for the whole folder."""

    def __init__(self, folder: str, changed: Callable[[list[str] | None], None]) -> None:
        self._folder = folder
        self._changed = changed
        self._stop, self._watches = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._loop, name="horae-watch", daemon=True)

    def start(self) -> None:
        """Begin to watch; returns when that is so, or cannot be."""
        self._thread.start()
        self._watches.wait()

    def close(self) -> None:
        """Stop watching."""
        self._stop.set()
        self._thread.join()

    def _loop(self) -> None:
        try:
            while not self._stop.is_set():
                with self._watcher() as watcher:
                    if self._watches.is_set():  # not the first time: it was away
                        self._changed(None)
                    self._watches.set()
                    for slugs in self._told(watcher):
                        self._changed(slugs)
                while not os.path.isdir(self._folder) and not self._stop.wait(AWAY_S):
                    pass
        except (OSError, RuntimeError) as error:
            self._watches.set()
            log.warning("%s cannot be watched (%s): it is looked at every %.0f s", self._folder, error, POLL_S)
            while not self._stop.wait(POLL_S):
                self._changed(None)

    def _watcher(self) -> RustNotify:
        """From the moment when it is there, what changes is told."""
        return RustNotify(
            [self._folder],
            debug=False,
            force_polling=False,
            poll_delay_ms=0,
            recursive=False,
            ignore_permission_denied=False,
        )

    def _told(self, watcher: RustNotify) -> Iterator[list[str] | None]:
        """What the system tells, until stopped, or until the folder itself has gone or been replaced."""
        while not self._stop.is_set():
            told = watcher.watch(4 * SETTLE_MS, SETTLE_MS, SURVEY_EVERY_MS, self._stop)
            if isinstance(told, str):
                yield from [None] if told == "timeout" else []
                continue
            paths = {path for _, path in told}
            if self._folder in paths:
                return
            slugs = sorted({slug for path in paths if (slug := slug_in(os.path.basename(path)))})
            if slugs:
                yield slugs
