"""Zone data comes from the wheel, and a wrong name is met with the right one."""

from __future__ import annotations

import zoneinfo
from datetime import UTC, datetime

import pytest
import tzdata

from horae.errors import Invalid
from horae.timing import zones


def test_zone_is_the_wheel_s() -> None:
    berlin = zones.zone("Europe/Berlin")
    assert berlin.key == "Europe/Berlin"
    assert zones.zone("Europe/Berlin") is berlin
    assert zones.version() == tzdata.IANA_VERSION


def test_the_system_copy_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zoneinfo, "TZPATH", ("/nonexistent",))
    zones.zone.cache_clear()
    # Since the end of October 2026 there is no winter time any more, which older copies do not know.
    assert zones.offset_s(datetime(2026, 12, 1, tzinfo=UTC), "America/Vancouver") == -7 * 3600


def test_all_names_load() -> None:
    assert {"UTC", "CET", "America/Argentina/Buenos_Aires"} <= zones.names()
    assert all(zones.zone(name).key == name for name in zones.names())


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("europe/berlin", "did you mean Europe/Berlin?"),
        ("Europe/Berln", "did you mean Europe/Berlin"),
        ("Paris", "did you mean Europe/Paris"),
        ("America/New York", "did you mean America/New_York?"),
        ("PST", "for example America/Los_Angeles"),
        ("CEST", "for example Europe/Berlin"),
        ("UTC+2", "an offset does not say when clocks change"),
        ("../UTC", ""),
        ("/etc/localtime", ""),
        ("Europe", ""),
        ("zones", ""),
        ("", "use a name of the IANA list"),
        ("x" * 100_000, "use a name of the IANA list"),
    ],
)
def test_unknown_names_are_refused(name: str, hint: str) -> None:
    with pytest.raises(Invalid, match="unknown time zone") as refusal:
        zones.zone(name)
    assert hint in (refusal.value.hint or "")
    assert len(refusal.value.message) < 100
    assert refusal.value.details["value"] == name


def test_offset() -> None:
    assert zones.offset_s(datetime(2026, 7, 1, tzinfo=UTC), "Europe/Berlin") == 7200
    assert zones.offset_s(datetime(2026, 1, 1, tzinfo=UTC), "America/St_Johns") == -12600
