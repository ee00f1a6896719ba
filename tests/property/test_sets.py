"""Laws of whole recurrence sets: bounds, several parts, exclusions, and the ways through text and cron and back."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from horae.errors import Invalid
from horae.timing.cron.back import to_cron
from horae.timing.cron.line import parse_cron
from horae.timing.ical.text import read_rfc5545, write_rfc5545
from horae.timing.recurrence import Gap, Grid, RecurrenceSet, Repeat, SlotException
from horae.timing.rules import FREQUENCIES, Rule

BEGIN = datetime(2024, 1, 1)
AFTER = datetime(2026, 6, 1, tzinfo=UTC)
FAR = AFTER + timedelta(days=366 * 30)
ZONES = ("UTC", "Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo", "Africa/Casablanca")


def _some(draw: st.DrawFn, low: int, high: int, most: int = 3, *, least: int = 0) -> tuple[int, ...]:
    values = st.integers(low, high).filter(bool) if low < 0 else st.integers(low, high)
    return tuple(draw(st.lists(values, min_size=least, max_size=most)))


@st.composite
def rules(draw: st.DrawFn) -> Rule:
    """Valid rules of every kind, bounded or not."""
    freq = draw(st.sampled_from(FREQUENCIES))
    weekday = st.integers(0, 6)
    ordinal = st.sampled_from([0, 1, 2, -1, 5]) if freq in {"MONTHLY", "YEARLY"} else st.just(0)
    days = tuple(draw(st.lists(st.tuples(ordinal, weekday), max_size=3)))
    parts = {
        "bymonth": draw(st.sampled_from([(), (), (3,), (2, 10, 11)])),
        "bymonthday": _some(draw, -31, 31, 2) if freq != "WEEKLY" else (),
        "byday": days,
        "byhour": _some(draw, 0, 23, least=freq not in {"HOURLY", "MINUTELY"}),
        "byminute": _some(draw, 0, 59, least=freq != "MINUTELY"),
        "second": draw(st.sampled_from([0, 0, 30])),
        "interval": draw(st.sampled_from([1, 1, 2, 3, 7, 25])),
        "wkst": draw(weekday),
        "bysetpos": draw(st.sampled_from([(), (), (1,), (-1, 2)])),
    }
    if draw(st.booleans()) or parts["interval"] != 1:
        parts["start"] = BEGIN + timedelta(minutes=draw(st.integers(0, 60 * 24 * 900)))
        end = draw(st.sampled_from([None, "count", "until"]))
        if end == "count":
            parts["count"] = draw(st.integers(1, 60))
        if end == "until":
            parts["until"] = AFTER + timedelta(minutes=draw(st.integers(-500_000, 500_000)))
    if draw(st.booleans()) and not parts.get("count"):
        parts["since"] = AFTER + timedelta(minutes=draw(st.integers(-500_000, 500_000)))
    try:
        return Rule(freq, **parts)  # pyright: ignore[reportArgumentType]
    except Invalid:
        assume(False)
        raise


@st.composite
def sets(draw: st.DrawFn) -> RecurrenceSet:
    """One or two rules, sometimes a grid, single dates, exclusions that hit, and exceptions."""
    chosen = tuple(draw(st.lists(rules(), min_size=1, max_size=2)))
    instants = st.integers(-500_000, 500_000).map(lambda minutes: AFTER + timedelta(minutes=minutes))
    grids = draw(st.lists(st.builds(Grid, st.sampled_from([3600, 5400, 86400 * 3]), instants), max_size=1))
    gap: Gap = draw(st.sampled_from(["shift", "after", "skip"]))
    repeat: Repeat = draw(st.sampled_from(["first", "both", "last"]))
    try:
        made = RecurrenceSet(
            draw(st.sampled_from(ZONES)), chosen, tuple(grids), tuple(draw(st.lists(instants, max_size=2))),
            gap=gap, repeat=repeat,
        )  # fmt: skip
        some = list(islice(made.between(AFTER, FAR), 9))
    except Invalid:  # a COUNT that leads too far
        assume(False)
        raise
    return replace(made, exdates=tuple(some[2:7:2]))


@settings(max_examples=250, deadline=None)
@given(sets())
def test_all_questions_agree(slots: RecurrenceSet) -> None:
    found = list(islice(slots.between(AFTER, FAR), 25))
    assert all(earlier < later for earlier, later in pairwise([AFTER, *found]))
    assert all(slots.contains(slot) and slots.last_until(slot) == slot for slot in found)
    for earlier, later in pairwise(found):
        assert slots.next_after(earlier) == later
        assert slots.last_until(later - timedelta(seconds=1)) == earlier
        assert slots.count(earlier, later) == 1
    if found:
        middle, end = found[len(found) // 2], found[-1]
        assert slots.count(AFTER, end) == len(found)
        assert slots.count(AFTER, middle) + slots.count(middle, end) == len(found)
        assert not any(date in found for date in slots.exdates)


@settings(max_examples=200, deadline=None)
@given(sets(), st.integers(-400_000, 400_000))
def test_a_cut_loses_nothing(slots: RecurrenceSet, minutes: int) -> None:
    cut = AFTER + timedelta(minutes=minutes)
    joined = slots.ending(cut - timedelta(seconds=1)) | slots.beginning(cut)
    start = AFTER - timedelta(days=200)
    expected = list(islice(slots.between(start, FAR), 60))
    assert list(islice(joined.between(start, FAR), 60)) == expected
    if expected:
        assert joined.count(start, expected[-1]) == len(expected)


def _text(slots: RecurrenceSet) -> str | None:
    """The set as text; None for what is cut inside a change of the clock, or behind the start of a COUNT."""
    try:
        return write_rfc5545(slots)
    except Invalid as refusal:
        if "begins inside a clock change" in refusal.message or "a COUNT that began earlier" in refusal.message:
            return None
        raise


def _picks(rule: Rule) -> bool:
    """Whether it has a list from which positions could be picked."""
    return any((rule.bymonth, rule.bymonthday, rule.byday, rule.byhour, rule.byminute, rule.byyearday, rule.byweekno))


@settings(max_examples=250, deadline=None)
@given(sets(), st.data())
def test_through_rfc_5545_text_and_back(slots: RecurrenceSet, data: st.DataObject) -> None:
    begun = tuple(rule for rule in slots.rules if rule.start is not None or rule.since is not None)
    slots = replace(slots, rules=begun or slots.rules, grids=slots.grids if begun else ())  # no text says both kinds
    assume(not any(rule.bysetpos and not _picks(rule) for rule in slots.rules))  # nor picks from nothing
    some = list(islice(slots.between(AFTER, FAR), 3))
    laid = tuple(
        SlotException(slot, data.draw(st.sampled_from([None, slot + timedelta(hours=5)]))) for slot in some[1:]
    )
    slots = replace(slots, exceptions=laid)
    assume(slots.next_after(datetime(2, 1, 2, tzinfo=UTC)) is not None)
    assume(not any(slots.zone == "UTC" and rule.freq in {"MINUTELY", "HOURLY"} for rule in slots.rules))
    start = AFTER - timedelta(days=900)  # where rules that have always been there begin in the text
    text = _text(slots)
    if text is None:
        return
    read = read_rfc5545(text, slots.zone, anchor=start, gap=slots.gap, repeat=slots.repeat).set
    assert list(islice(read.due_between(start, FAR), 40)) == list(islice(slots.due_between(start, FAR), 40))


def _field(random: Random, low: int, high: int, extended: tuple[str, ...] = ()) -> str:
    shape = random.random()
    if shape < 0.35:
        return "*"
    if shape < 0.45:
        return f"*/{random.randrange(2, high)}"
    parts: list[str] = []
    for _ in range(random.randrange(1, 4)):
        kind = random.random()
        first, last = sorted((random.randint(low, high), random.randint(low, high)))
        if kind < 0.5:
            parts.append(str(first))
        elif kind < 0.8 or not extended:
            step = random.randrange(1, 5)
            parts.append(f"{first}-{last}/{step}" if first < last and kind > 0.65 else f"{first}-{last}")
        else:
            parts.append(random.choice(extended))
    return ",".join(parts)


def _lines(seed: int, count: int) -> list[str]:
    random = Random(seed)
    days = ("L", "LW", "L-3", "15W", "1W", "31W", "29W", "28W")
    weekdays = ("1#2", "5L", "0#5", "3#1", "fri#4")
    return [
        f"{_field(random, 0, 59)} {_field(random, 0, 23)} {_field(random, 1, 31, days)}"
        f" {_field(random, 1, 12)} {_field(random, 0, 7, weekdays)}"
        for _ in range(count)
    ]


def _round_trip(line: str) -> bool:
    try:
        slots = RecurrenceSet("UTC", parse_cron(line).rules)
    except Invalid:  # it never fires
        return False
    canonical = to_cron(slots)
    assert RecurrenceSet("UTC", parse_cron(canonical).rules) == slots, (line, canonical)
    assert to_cron(RecurrenceSet("UTC", parse_cron(canonical).rules)) == canonical
    return True


def test_every_cron_line_comes_back_as_its_canonical_form() -> None:
    assert sum(map(_round_trip, _lines(seed=2, count=150))) > 130


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_ten_thousand_cron_lines_come_back() -> None:
    assert sum(map(_round_trip, _lines(seed=1, count=10_000))) > 9_000
