"""The stores that the contract is run on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.servers import server_or_skip
from tests.support.stores import ADAPTERS
from tests.support.world import scratch


@pytest.fixture(params=sorted(ADAPTERS))
def s(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A new store of each kind; see tests/support/stores.py for its verbs."""
    with scratch() as folder:
        with server_or_skip():
            made = ADAPTERS[request.param](folder)
        yield made
        made.close()
