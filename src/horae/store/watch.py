"""Notice edits of job files as they happen: the system tells, a thread hands it on.

The net below it is a look at the whole folder: now and then, since an event can be lost; and every minute where the
system cannot watch at all (a network file system, no watches left), which is said in the log.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator

from watchfiles import Change, watch

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
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="horae-watch", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def close(self) -> None:
        """Stop watching."""
        self._stop.set()
        self._thread.join()

    def _loop(self) -> None:
        try:
            while not self._stop.is_set():
                for slugs in self._told():
                    self._changed(slugs)
                while not os.path.isdir(self._folder) and not self._stop.wait(AWAY_S):
                    pass
                if not self._stop.is_set():
                    self._changed(None)
        except (OSError, RuntimeError) as error:
            log.warning("%s cannot be watched (%s): it is looked at every %.0f s", self._folder, error, POLL_S)
            while not self._stop.wait(POLL_S):
                self._changed(None)

    def _told(self) -> Iterator[list[str] | None]:
        """What the system tells, until stopped, or until the folder itself has gone or been replaced."""
        batches = watch(
            self._folder,
            watch_filter=self._matters,
            debounce=4 * SETTLE_MS,
            step=SETTLE_MS,
            stop_event=self._stop,
            rust_timeout=SURVEY_EVERY_MS,
            yield_on_timeout=True,
            raise_interrupt=False,
            recursive=False,
        )
        for batch in batches:
            paths = {path for _, path in batch}
            if self._folder in paths:
                return
            yield sorted(slug for path in paths if (slug := slug_in(os.path.basename(path)))) or None

    def _matters(self, _change: Change, path: str) -> bool:
        return path == self._folder or slug_in(os.path.basename(path)) is not None
