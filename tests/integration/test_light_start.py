"""`horae list` loads only what it needs. How long it takes is measured in bench/cli.py; what makes it slow is held here."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = (
    *(
        "asyncio",
        "dataclasses",
        "difflib",
        "inspect",
        "logging",
        "pathlib",
        "shutil",
        "subprocess",
        "tempfile",
        "tomllib",
    ),
    *("typing", "tzdata", "watchfiles", "yaml", "zoneinfo", "horae.timing", "horae.core.model", "horae.store.sqlite"),
)
PROBE = """
import sys
from horae.cli.main import main
status = main(sys.argv[1:])
print("loaded:", " ".join(sorted(sys.modules)))
sys.exit(status)
"""


def loaded(home: str, *words: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROBE, "--home", home, *words], capture_output=True, text=True, check=True
    )
    return set(done.stdout.rsplit("loaded:", 1)[1].split())


@pytest.fixture
def home(tmp_path) -> str:
    path = str(tmp_path / "home")
    for words in (("init", "--example"), ("list",)):
        subprocess.run([sys.executable, "-m", "horae", "--home", path, *words], check=True, capture_output=True)
    return path


@pytest.mark.parametrize("words", [("list",), ("list", "--json"), ("list", "--all", "--state", "active")], ids=" ".join)
def test_listing_jobs_loads_nothing_heavy(home: str, words: tuple[str, ...]) -> None:
    bare = set(
        subprocess.run(
            [sys.executable, "-c", "import sys; print(*sys.modules)"], capture_output=True, text=True, check=True
        ).stdout.split()
    )
    assert loaded(home, *words) & (set(HEAVY) - bare) == set()


def test_the_probe_sees_what_another_command_loads(home: str) -> None:
    assert {"asyncio", "horae.timing"} <= loaded(home, "show", "heartbeat")
