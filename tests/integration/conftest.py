"""A fresh home for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.process import TestHome, new_home


@pytest.fixture
def home(request: pytest.FixtureRequest, tmp_path: Path) -> TestHome:
    """Where a module says INSIDE, its commands are run by this process: it is about what they do, not how they start."""
    made = new_home(tmp_path / "home")
    made.inside = getattr(request.module, "INSIDE", False)
    return made
