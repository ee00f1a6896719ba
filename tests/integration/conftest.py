"""A fresh home for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.process import TestHome, new_home


@pytest.fixture
def home(tmp_path: Path) -> TestHome:
    return new_home(tmp_path / "home")
