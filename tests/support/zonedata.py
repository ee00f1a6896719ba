"""Another version of the zone data, in this process: some zones have the law of others.

A law that changed is so played with the files that are there: before its end of clock changes in 2026, Vancouver had the
law that Los Angeles has, and files of it are zone data of an earlier version.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import tzdata

from horae.core import cadence
from horae.timing import clockchange, zones

UNCHANGED = ("UTC", "Europe/Paris")  # the other zones that tests use
VANCOUVER_BEFORE = {"America/Vancouver": "America/Los_Angeles"}


@contextmanager
def zone_data(folder: Path, version: str, laws: dict[str, str]) -> Iterator[None]:
    """Within it the installed version is `version`, and each zone in `laws` follows the law of another."""
    real = zones._FOLDER
    (folder / "zones").symlink_to(real / "zones")
    for name, law in {**{name: name for name in UNCHANGED}, **laws}.items():
        file = folder / "zoneinfo" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.symlink_to(real / "zoneinfo" / law)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zones, "_FOLDER", folder)
        patch.setattr(tzdata, "IANA_VERSION", version)
        forget()
        yield
    forget()


def forget() -> None:
    """Drop what was worked out with the zone data so far: a process has one version and never does that."""
    for kept in (zones.zone, zones.names, clockchange._block, cadence.parsed):
        kept.cache_clear()
