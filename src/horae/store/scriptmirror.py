"""The scripts of a cluster on one machine: a folder that follows the table.

A script is written beside its place, forced to its mode and renamed, so a run never starts half of one; one that runs
keeps the text that it began with. What the table has no more goes. Files that differ from the table (somebody edited the
copy) are put right: the table is the truth.

Several processes may keep the same folder: gateways of one home, and commands. Each leaves alone what another is writing,
and finds nothing wrong with what another has done already.
"""

from __future__ import annotations

import os
import tempfile
import threading
from contextlib import suppress

from horae.errors import Trouble
from horae.ports import Store
from horae.store.documents import Document, digest_of

KIND = "script"
BEING_WRITTEN = ".horae-"  # begins the names of files that are not in their place yet


class ScriptMirror:
    """One folder. `refresh` may be called from any thread, and does nothing when nothing has changed."""

    def __init__(self, store: Store, folder: str) -> None:
        self._store = store
        self._folder = folder
        self._turn = threading.Lock()
        self._known: dict[str, str] | None = None  # nobody has looked at what lies there

    def refresh(self) -> int:
        """Make the folder what the table says. Returns how many scripts changed. Raises Trouble when it cannot."""
        with self._turn:
            wanted = dict(self._store.transact(lambda tx: [*tx.documents.digests(KIND)]))
            if wanted == self._known:
                return 0
            known = self._known or {}
            try:
                os.makedirs(self._folder, mode=0o700, exist_ok=True)  # programs of jobs are started there too
                # What has gone goes first: a folder may stand where there is to be a file, or the other way round
                changed = sum(self._remove(path) for path in self._found() if path not in wanted)
                changed += sum(self._put(name) for name, digest in wanted.items() if known.get(name) != digest)
            except OSError as error:
                raise Trouble(
                    f"{self._folder} cannot be written: {error.strerror}", "check the owner and mode of the home"
                ) from error
            self._known = wanted
            return changed

    def _put(self, name: str) -> bool:
        document: Document | None = self._store.transact(lambda tx: tx.documents.get(KIND, name))
        path = os.path.join(self._folder, name)
        root = os.path.realpath(self._folder)
        inside = os.path.commonpath((root, os.path.realpath(path))) == root
        if document is None or not inside:  # nothing that the table says leads out of the folder
            return False
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        try:
            with open(path, encoding="utf-8", errors="surrogatepass", newline="") as file:
                if digest_of(file.read()) == document.digest and os.stat(path).st_mode & 0o777 == document.mode:
                    return False
        except (OSError, ValueError):
            pass  # whatever is there instead is replaced
        handle, temporary = tempfile.mkstemp(prefix=BEING_WRITTEN, dir=os.path.dirname(path))
        try:
            with open(handle, "w", encoding="utf-8", errors="surrogatepass", newline="") as file:
                file.write(document.text)
                os.fchmod(file.fileno(), document.mode)
            os.replace(temporary, path)
        except OSError:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        return True

    def _found(self) -> list[str]:
        return [
            os.path.relpath(os.path.join(folder, name), self._folder)
            for folder, _, names in os.walk(self._folder)
            for name in names
            if not name.startswith(BEING_WRITTEN)
        ]

    def _remove(self, name: str) -> bool:
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(self._folder, name))
        while name := os.path.dirname(name):  # folders that hold nothing any more
            try:
                os.rmdir(os.path.join(self._folder, name))
            except OSError:
                break
        return True
