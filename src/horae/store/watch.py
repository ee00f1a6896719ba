"""Notice edits of job files as they happen: the system tells, a thread hands it on."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from watchfiles import Change, watch

SETTLE_MS = 50  # an editor writes in several steps


class FolderWatch:
    """Calls `changed(slugs)` from a thread of its own whenever `*.md` files in a folder change."""

    def __init__(self, folder: str, changed: Callable[[list[str]], None]) -> None:
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
        changes = watch(
            self._folder,
            watch_filter=_is_job,
            debounce=400,
            step=SETTLE_MS,
            stop_event=self._stop,
            recursive=False,
            rust_timeout=1000,
            raise_interrupt=False,
        )
        for batch in changes:
            self._changed(sorted({os.path.basename(path)[:-3] for _, path in batch}))


def _is_job(_change: Change, path: str) -> bool:
    name = os.path.basename(path)
    return name.endswith(".md") and not name.startswith((".", "#"))
