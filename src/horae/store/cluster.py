"""The way to the PostgreSQL store, for whoever may not need it: its driver is an extra, and takes a while to load."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from horae.errors import Trouble


def adapter() -> ModuleType:
    """The module `horae.store.postgres`. Raises Trouble when its driver is missing."""
    try:
        return import_module("horae.store.postgres")
    except ImportError as error:
        if not (error.name or "").startswith("psycopg") and "psycopg" not in str(error):
            raise
        raise Trouble(
            f'store = "postgresql://…" needs the driver psycopg ({error})',
            "pip install 'horae[postgres]'",
        ) from error
