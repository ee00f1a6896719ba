"""A browser for all tests of the dashboard, and a home that is served for each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.process import TestHome
from tests.support.web import Served, browser, served, visit


@pytest.fixture
def web(home: TestHome) -> Iterator[Served]:
    """A fresh home, served."""
    with served(home) as made:
        yield made


@pytest.fixture(scope="module")
def chrome() -> Iterator[Any]:
    """One browser for a file; each test has a profile of its own in it.

    Not one for all: its driver keeps an event loop in this thread, and tests of other files run loops of their own here.
    """
    with browser() as made:
        yield made


@pytest.fixture
def page(chrome: Any, web: Served) -> Iterator[Any]:
    """A page, signed in, at Today. Nothing may go wrong in it, and nothing may be asked of the outside."""
    made = visit(chrome, web)
    yield made
    assert not made.troubles, made.troubles
    made.context.close()
