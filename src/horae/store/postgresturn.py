"""One process at a time, over all machines that share a database: a lock that ends with its connection."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from horae.store.postgresdb import connect
from horae.store.postgreserrors import named, shown

ZONES = 0x686F7261  # of our own, among the numbers that advisory locks have in a database


@contextmanager
def only_one(url: str) -> Generator[None]:
    """Wait for the turn, hold it while the block runs."""
    with named(shown(url)):
        db = connect(url)
        try:
            db.execute("SELECT pg_advisory_lock(?)", (ZONES,))
            yield
        finally:
            db.close()
