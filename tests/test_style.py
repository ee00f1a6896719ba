"""Format, lint and types are tests like any other, so that no machine lands what another would refuse."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
CHECKS = {
    "format": (str(BIN / "ruff"), "format", "--check", "."),
    "lint": (str(BIN / "ruff"), "check", "."),
    "types": (str(BIN / "pyright"), "--project", str(ROOT / "pyproject.toml"), "--pythonpath", sys.executable),
}


@pytest.mark.timeout(400)  # the types take a minute by themselves, and share two cores with three other workers here
@pytest.mark.parametrize("name", CHECKS)
def test_style(name: str) -> None:
    done = subprocess.run(CHECKS[name], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(CHECKS[name])}\n{done.stdout[-6000:]}{done.stderr[-2000:]}"
