"""Zone data, from the `tzdata` wheel only.

Two machines must agree on the next slot, and system copies are months or years apart; so the system's zone files are
never read, whatever TZPATH or PYTHONTZPATH say. The wheel's version is the version of every answer given here.

A name is looked up in the wheel's own list before anything is opened: that is what keeps `../x`, absolute paths and
the wrong case (which a case-blind file system would accept) out. Failure: an unknown name is `Invalid`, with the
nearest names. This is the only module of the package that reads files, and it reads nothing else.
"""

from __future__ import annotations

import difflib
from datetime import datetime
from functools import cache
from pathlib import Path
from zoneinfo import ZoneInfo

import tzdata

from horae.errors import Invalid

# importlib.resources would find the folder too, but importing it costs more than all the rest of this package.
_FOLDER = Path(tzdata.__path__[0])

# What people write instead of a zone. An abbreviation says an offset, not when it changes; most mean several places.
_ABBREVIATIONS = {
    "PT": "America/Los_Angeles",
    "PST": "America/Los_Angeles",
    "PDT": "America/Los_Angeles",
    "MT": "America/Denver",
    "MDT": "America/Denver",
    "CT": "America/Chicago",
    "CST": "America/Chicago",
    "CDT": "America/Chicago",
    "ET": "America/New_York",
    "EDT": "America/New_York",
    "AKST": "America/Anchorage",
    "AKDT": "America/Anchorage",
    "BRT": "America/Sao_Paulo",
    "ART": "America/Argentina/Buenos_Aires",
    "BST": "Europe/London",
    "CEST": "Europe/Berlin",
    "MEZ": "Europe/Berlin",
    "MESZ": "Europe/Berlin",
    "EEST": "Europe/Athens",
    "MSK": "Europe/Moscow",
    "TRT": "Europe/Istanbul",
    "SAST": "Africa/Johannesburg",
    "GST": "Asia/Dubai",
    "IST": "Asia/Kolkata",
    "SGT": "Asia/Singapore",
    "HKT": "Asia/Hong_Kong",
    "JST": "Asia/Tokyo",
    "KST": "Asia/Seoul",
    "AWST": "Australia/Perth",
    "AEST": "Australia/Sydney",
    "AEDT": "Australia/Sydney",
    "ACST": "Australia/Adelaide",
    "NZST": "Pacific/Auckland",
    "NZDT": "Pacific/Auckland",
}


@cache
def names() -> frozenset[str]:
    """All zone names of the wheel, in their exact spelling."""
    return frozenset((_FOLDER / "zones").read_text(encoding="ascii").split())


def version() -> str:
    """The IANA release, such as "2026f"."""
    return tzdata.IANA_VERSION


@cache  # bounded by the wheel: some 600 names
def zone(name: str) -> ZoneInfo:
    """The zone of that exact name. Raises `Invalid` that names the zone and the nearest valid ones."""
    if name not in names():
        raise _unknown(name)
    with (_FOLDER / "zoneinfo" / name).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)


def offset_s(instant: datetime, name: str) -> int:
    """Seconds that the zone is ahead of UTC at that (aware) instant."""
    offset = instant.astimezone(zone(name)).utcoffset()
    assert offset is not None  # a ZoneInfo always answers
    return offset.days * 86400 + offset.seconds


def _unknown(name: str) -> Invalid:
    near = _near(name)
    shown = name if len(name) <= 60 else f"{name[:60]}…"
    abbreviation = _ABBREVIATIONS.get(name.strip().upper())
    if abbreviation is not None:
        hint = f"an abbreviation does not say when clocks change; name a place, for example {abbreviation}"
    elif name[:3].upper() in ("UTC", "GMT") and name[3:4] in ("+", "-"):
        hint = "an offset does not say when clocks change; name a place, for example Europe/Paris, or use UTC"
    elif near:
        hint = f"did you mean {', '.join(near)}?"
    else:
        hint = "use a name of the IANA list, for example Europe/Paris or UTC"
    return Invalid(f"unknown time zone {shown!r}", hint, value=name, nearest=near)


def _near(name: str) -> list[str]:
    """Up to three valid names that are close, the right case first."""
    folded = {known.lower(): known for known in names()}
    wanted = name.strip().lower().replace(" ", "_")[:60]
    if wanted in folded:
        return [folded[wanted]]
    found = [folded[key] for key in difflib.get_close_matches(wanted, sorted(folded), n=3, cutoff=0.6)]
    # "Paris" is far from "Europe/Paris" as a string and yet what was meant.
    cities = sorted(known for low, known in folded.items() if wanted and low.rsplit("/", 1)[-1] == wanted)
    return list(dict.fromkeys(cities + found))[:3]
