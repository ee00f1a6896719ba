"""Random cron lines and RFC 5545 rules from a seed: the same ones in every run, whatever the versions of libraries.

Rules are drawn so that every part meets every frequency that the RFC allows it with, and so that one in a few is rare
or never due; those that the RFC forbids are drawn by `forbidden_rule`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random
from typing import Any

from tests.support.oracles import MONTHS, WEEKDAYS, Recurrence

FREQUENCIES = ("YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY")


# --- cron


def cron_line(random: Random, *, extended: bool) -> str:
    """Five fields; with `extended`, one of the day fields or both hold L, LW, nW, d#n or dL."""
    minute = _field(random, 0, 59)
    hour = _field(random, 0, 23)
    month = _field(random, 1, 12, MONTHS) if random.random() < 0.4 else "*"
    day = _field(random, 1, 31) if random.random() < 0.6 else "*"
    weekday = _field(random, 0, 7, WEEKDAYS) if random.random() < 0.5 else "*"
    if extended:
        which = random.randrange(3)
        day = _special(random, _special_day, day) if which != 1 else day
        weekday = _special(random, _special_weekday, weekday) if which != 0 else weekday
    return f"{minute} {hour} {day} {month} {weekday}"


def _field(random: Random, low: int, high: int, names: list[str] | None = None) -> str:
    if random.random() < 0.15:
        return random.choice(["*", "*", "*/2", "*/3", "*/7", f"*/{high}"])
    return ",".join(_part(random, low, high, names) for _ in range(random.choice([1, 1, 1, 2, 3])))


def _part(random: Random, low: int, high: int, names: list[str] | None) -> str:
    first, last = sorted(random.sample(range(low, high + 1), 2))
    kind = random.random()
    if kind < 0.2:
        return f"{first}-{last}"
    if kind < 0.35:
        return f"{first}-{last}/{random.randint(1, 9)}"
    if names and kind < 0.6:
        name = random.choice(names)
        return random.choice([name, name.upper(), name.title()])
    return str(first)


def _special(random: Random, draw: Callable[[Random], str], plain: str) -> str:
    parts = [draw(random) for _ in range(random.choice([1, 1, 2]))]
    if plain[0] != "*" and random.random() < 0.3:
        parts.append(plain)
    random.shuffle(parts)
    return ",".join(parts)


def _special_day(random: Random) -> str:
    number = random.choice([1, 2, 14, 15, 16, 27, 28, 29, 30, 31])
    return random.choice(["L", "LW", f"{number}W", f"{number}W", f"L-{random.randint(1, 30)}"])


def _special_weekday(random: Random) -> str:
    weekday = random.choice([str(random.randint(0, 7)), random.choice(WEEKDAYS)])
    return random.choice([f"{weekday}L", f"{weekday}#{random.randint(1, 5)}"])


# --- RFC 5545


def rule(random: Random) -> Recurrence:
    """One that the RFC allows. What it leaves to DTSTART is left out now and then."""
    freq = random.choice(FREQUENCIES)
    start = datetime(2016, 1, 1) + random.randrange(12 * 365 * 1440) * timedelta(minutes=1)
    if random.random() < 0.1:
        start += timedelta(seconds=random.randint(1, 59))
    made = Recurrence(freq, start, _interval(random, freq), random.choice([0, 0, 0, 6, random.randrange(7)]))
    made = replace(made, **_days(random, freq), **_times(random, freq))
    if random.random() < 0.25:
        made = _with_positions(random, made)
    end = random.random()
    if end < 0.15:
        return replace(made, count=random.choice([1, 2, 3, 7, 30, 100]))
    if end < 0.3:
        reach = {"YEARLY": 4000, "MONTHLY": 1000, "WEEKLY": 400, "DAILY": 100}.get(freq, 10)
        return replace(made, until=start + random.randrange(reach * 1440) * timedelta(minutes=1))
    return made


def _interval(random: Random, freq: str) -> int:
    usual = random.choice([1, 1, 1, 1, 2, 2, 3, 4, 5, 7, 10, 12])
    odd = {"MINUTELY": [45, 90, 120, 1440, 1441, 5000], "HOURLY": [6, 24, 25, 36, 100], "DAILY": [14, 30, 365, 400]}
    return random.choice(odd.get(freq, [6, 13])) if random.random() < 0.15 else usual


def _some(random: Random, low: int, high: int, most: int = 3) -> tuple[int, ...]:
    return tuple(sorted(random.sample(range(low, high + 1), random.randint(1, most))))


def _signed(random: Random, high: int) -> tuple[int, ...]:
    usual = {random.choice([1, -1]) * number for number in _some(random, 1, high)}
    edge = {random.choice([1, -1]) * random.randint(high - 3, high)}
    return tuple(sorted(usual | edge if random.random() < 0.3 else usual))


def _weekdays(random: Random, ordinal: int = 0) -> tuple[tuple[int, int], ...]:
    def number() -> int:
        return random.choice([0, 1, -1]) * random.randint(1, ordinal) if ordinal else 0

    return tuple(sorted({(number(), weekday) for weekday in _some(random, 0, 6, 5)}))


def _days(random: Random, freq: str) -> dict[str, Any]:
    def maybe(share: float) -> bool:
        return random.random() < share

    parts: dict[str, Any] = {"bymonth": _some(random, 1, 12, 4)} if maybe(0.3) else {}
    if freq == "YEARLY" and maybe(0.25):
        parts["byweekno"] = _signed(random, 53)
    if freq in {"YEARLY", "HOURLY", "MINUTELY"} and maybe(0.2):
        parts["byyearday"] = _signed(random, 366)
    if freq != "WEEKLY" and maybe(0.35):
        parts["bymonthday"] = _signed(random, 31)
    if maybe(0.6 if freq == "WEEKLY" else 0.4):
        numbered = freq in {"MONTHLY", "YEARLY"} and "byweekno" not in parts and maybe(0.6)
        most = 5 if freq == "MONTHLY" or "bymonth" in parts else random.choice([5, 53])
        parts["byday"] = _weekdays(random, most if numbered else 0)
    return parts


def _times(random: Random, freq: str) -> dict[str, Any]:
    parts: dict[str, Any] = {}
    if random.random() < {"HOURLY": 0.3, "MINUTELY": 0.3}.get(freq, 0.7):
        parts["byhour"] = _some(random, 0, 23)
    if random.random() < (0.25 if freq == "MINUTELY" else 0.7):
        parts["byminute"] = _some(random, 0, 59)
    return parts


def _with_positions(random: Random, made: Recurrence) -> Recurrence:
    """BYSETPOS, if there is some other list for it to pick from, as the RFC demands."""
    lists = ("bymonth", "byweekno", "byyearday", "bymonthday", "byday", "byhour", "byminute")
    if not any(getattr(made, name) for name in lists):
        return made
    positions = {random.choice([1, -1]) * random.choice([1, 1, 2, 3, 5, 20]) for _ in range(random.randint(1, 3))}
    return replace(made, bysetpos=tuple(sorted(positions)))


def forbidden_rule(random: Random) -> Recurrence:
    """One that breaks exactly one of the RFC's rules about which parts go together."""
    plain = Recurrence("DAILY", datetime(2026, 3, 4, 9), byhour=(9,), byminute=(30,))
    numbered = ((random.choice([1, -1]) * random.randint(1, 5), random.randrange(7)),)
    kind = random.randrange(5)
    if kind == 0:
        return replace(plain, freq=random.choice(["WEEKLY", "DAILY", "HOURLY", "MINUTELY"]), byday=numbered)
    if kind == 1:
        return replace(plain, freq=random.choice(FREQUENCIES[1:]), byweekno=_signed(random, 53), byday=((0, 2),))
    if kind == 2:
        return replace(plain, freq="YEARLY", byweekno=_signed(random, 53), byday=numbered)
    if kind == 3:
        parts = {"byyearday": _signed(random, 366), "byday": ((0, 2),)}
        return replace(plain, freq=random.choice(["MONTHLY", "WEEKLY", "DAILY"]), **parts)
    return replace(plain, freq="WEEKLY", byday=((0, 2),), bymonthday=_signed(random, 31))
