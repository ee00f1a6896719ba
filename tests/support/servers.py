"""What to do without PostgreSQL: one place says it, so that no test hides a server that is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support.postgres import NoServer


@contextmanager
def server_or_skip() -> Iterator[None]:
    """Skip the test where the block finds no server. With CI=true a skip is a failure (tests/conftest.py)."""
    try:
        yield
    except NoServer as error:
        pytest.skip(f"no PostgreSQL here: {error}")
