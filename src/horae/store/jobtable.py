"""The job files of a cluster: rows of a table that behave like the files of a folder (`jobfolder.py`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from horae import limits
from horae.core.slug import NEW_SLUG
from horae.errors import Conflict, Invalid, NotFound
from horae.ports import Store, Tx
from horae.store.jobscan import is_stem

T = TypeVar("T")
KIND, MODE = "job", 0o644


class JobTable:
    """Definitions by slug. Every call is a transaction of its own, or part of the one that it was opened inside."""

    def __init__(self, store: Store, root: str, actor: str, tx: Tx | None = None) -> None:
        self.root = root
        self._store = store
        self._actor = actor
        self._tx = tx

    def inside(self, tx: Tx) -> JobTable:
        """The same as an open transaction sees it: a second one beside it would wait for the first for ever."""
        return JobTable(self._store, self.root, self._actor, tx)

    def _do(self, work: Callable[[Tx], T]) -> T:
        return self._store.transact(work) if self._tx is None else work(self._tx)

    def scan(self) -> Iterator[tuple[str, str]]:
        """All of them as (slug, signature)."""
        return self._do(lambda tx: iter([*tx.documents.digests(KIND)]))

    def read(self, slug: str) -> str:
        """The text of one. Raises NotFound."""
        found = self._do(lambda tx: tx.documents.get(KIND, slug))
        if found is None:
            raise _missing(slug)
        return found.text

    def signature(self, slug: str) -> str:
        """What `scan` gives for it. Raises NotFound."""
        found = self._do(lambda tx: tx.documents.get(KIND, slug))
        if found is None:
            raise _missing(slug)
        return found.digest

    def write(self, slug: str, text: str, *, expect: str | None) -> None:
        """Replace the one that says `expect`, or make a new one where that is None. Raises Conflict, NotFound, Invalid."""
        if not is_stem(slug) or (expect is None and not NEW_SLUG.fullmatch(slug)):
            hint = "Use a to z, 0 to 9, hyphens, dots and underscores."
            raise Invalid(f"{slug!r} cannot be the name of a new job file", hint, expected="a slug", key="slug")
        if len(text.encode("utf-8", "surrogatepass")) > limits.JOB_FILE_BYTES_MAX:
            raise Invalid(
                f"jobs/{slug}.md: is larger than {limits.JOB_FILE_BYTES_MAX // 1024} KiB", file=f"jobs/{slug}.md"
            )

        def work(tx: Tx) -> None:
            if expect is not None:
                _check(tx, slug, expect)
                tx.documents.put(KIND, slug, text, mode=MODE, actor=self._actor)
            elif not tx.documents.make(KIND, slug, text, mode=MODE, actor=self._actor):
                says = f"there already is a job file jobs/{slug}.md"
                raise Conflict(says, "Choose another name.", file=f"jobs/{slug}.md")

        self._do(work)

    def remove(self, slug: str, *, expect: str | None) -> None:
        """Remove the one that says `expect`, None for whatever it says. Raises NotFound, Conflict."""

        def work(tx: Tx) -> None:
            if expect is not None:
                _check(tx, slug, expect)
            if not tx.documents.remove(KIND, slug):
                raise _missing(slug)

        self._do(work)


def _check(tx: Tx, slug: str, expect: str) -> None:
    """It says what the caller has read."""
    found = tx.documents.get(KIND, slug)
    if found is None:
        raise _missing(slug)
    if found.text != expect:
        hint = "Read it again and repeat the change."
        raise Conflict(f"jobs/{slug}.md was changed meanwhile; nothing was written", hint, file=f"jobs/{slug}.md")


def _missing(slug: str) -> NotFound:
    return NotFound(f"there is no job file jobs/{slug}.md", slug=slug)
