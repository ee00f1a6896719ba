"""The stores that the contract is run on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.postgres import NoServer
from tests.support.stores import ADAPTERS
from tests.support.world import scratch


@pytest.fixture(params=sorted(ADAPTERS))
def s(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A new store of each kind; see tests/support/stores.py for its verbs."""
    with scratch() as folder:
        try:
            made = ADAPTERS[request.param](folder)
        except NoServer as error:  # with CI=true a skip is a failure (tests/conftest.py)
            pytest.skip(f"no PostgreSQL here: {error}")
        yield made
        made.close()
