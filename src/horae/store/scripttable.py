"""The scripts of a cluster: rows of a table that behave like the files of a folder (`scriptfolder.py`).

Each machine keeps a copy of its own to start them from, and brings that up to date before it starts one.
"""

from __future__ import annotations

from collections.abc import Iterator

from horae.errors import Conflict, NotFound
from horae.ports import Store, Tx

KIND = "script"


class ScriptTable:
    """Scripts by name. Every call is a transaction of its own."""

    def __init__(self, store: Store, actor: str) -> None:
        self._store = store
        self._actor = actor

    def list(self) -> Iterator[str]:
        """Names of all scripts, sorted."""
        names = self._store.transact(lambda tx: [name for name, _ in tx.documents.digests(KIND)])
        return iter(sorted(names))

    def read(self, name: str) -> tuple[str, int]:
        """Its text and its mode. Raises NotFound."""
        found = self._store.transact(lambda tx: tx.documents.get(KIND, name))
        if found is None:
            raise NotFound(f"there is no script scripts/{name}", name=name)
        return found.text, found.mode

    def write(self, name: str, text: str, mode: int, *, expect: str | None) -> None:
        """Replace the one that says `expect`, or make a new one where that is None. Raises Conflict."""

        def work(tx: Tx) -> None:
            if expect is None:
                if not tx.documents.make(KIND, name, text, mode=mode, actor=self._actor):
                    raise Conflict(f"scripts/{name} is there already; nothing was written", "look at it, and try again")
                return
            found = tx.documents.get(KIND, name)
            if found is None or found.text != expect:
                raise Conflict(
                    f"scripts/{name} was changed meanwhile; nothing was written", "look at it, and try again"
                )
            tx.documents.put(KIND, name, text, mode=mode, actor=self._actor)

        self._store.transact(work)
