"""The language of schedules, both ways: every sentence of the grammar is read, and every set has words that say it.

Sentences are made from the grammar itself; sets are made from rules, grids and dates without looking at it.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import islice
from typing import Any

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from horae.errors import Invalid
from horae.timing.phrases import grammar
from horae.timing.phrases.forms import NEAR, SCHEDULE
from horae.timing.phrases.phrase import CHARS_MAX, Phrase, parse_phrase
from horae.timing.phrases.text import Text
from horae.timing.policy import default_policy
from horae.timing.recurrence import Grid, RecurrenceSet, Rule
from horae.timing.rules import Freq
from horae.timing.schedule import parse_schedule
from horae.timing.walls import layer_of
from horae.timing.words.sets import describe

ANCHOR = datetime(2026, 11, 30, 8, 30, tzinfo=UTC)
LATER = ANCHOR + timedelta(days=17, seconds=0.3)
ZONES = st.sampled_from(["UTC", "Europe/Paris", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo"])

# ---------------------------------------------------------------------------------------------------------------------
# Sentences


@cache
def sentences(part: grammar.Part) -> st.SearchStrategy[str]:
    """Texts that the part generates."""
    match part:
        case grammar.Words():
            return st.just(joined(part.words))
        case grammar.Name():
            return st.sampled_from(sorted(part.values))
        case grammar.Leaf():
            shape = part.fits.__self__  # pyright: ignore[reportFunctionMemberAccess]
            return st.sampled_from(part.examples) | st.from_regex(shape, fullmatch=True)
        case grammar.Sequence():
            return st.tuples(*map(sentences, part.parts)).map(joined)
        case grammar.Choice():
            return st.one_of([sentences(option) for option in part.options if not isinstance(option, grammar.Refused)])
        case grammar.Optional():
            return st.just("") | sentences(part.part)
        case grammar.Many():
            joint = st.just("") if part.joint is None else sentences(part.joint)
            more = st.lists(st.tuples(joint, sentences(part.item)).map(joined), max_size=2).map(joined)
            return st.tuples(sentences(part.item), more).map(joined)
        case grammar.Rule() | grammar.Placed():
            return sentences(part.part)
        case _:
            raise TypeError(part)


def joined(parts: Any) -> str:
    return " ".join(part for part in parts if part)


def read(text: str, name: str) -> Phrase | Invalid:
    try:
        return parse_phrase(text, name, ANCHOR)
    except Invalid as refusal:
        return refusal


@settings(max_examples=400)
@given(sentences(SCHEDULE), ZONES)
@example("every other friday at 17:00 until 2027-01-01, then mondays at 9am, 3 times", "Europe/Paris")
def test_every_sentence_of_the_grammar_is_read_or_refused_for_its_sense(text: str, name: str) -> None:
    assume(len(text) <= CHARS_MAX)
    found = read(text, name)
    if isinstance(found, Invalid):
        assert not found.message.startswith("cannot read")
        return
    again = parse_phrase(found.written, name, LATER) if found.kind != "once" else found
    assert again.set == found.set
    words = describe(found.set, name)
    # "hourly and at 9am" has the policy of times of day and the slots of "hourly": that takes words of its own
    if len(words) <= CHARS_MAX and "(clock changes" not in words:
        assert parse_schedule(words, name, anchor=LATER).set == found.set


@settings(max_examples=200)
@given(sentences(SCHEDULE), st.data())
def test_a_sentence_with_one_word_changed_is_never_a_crash(text: str, data: st.DataObject) -> None:
    words = text.split()
    place = data.draw(st.integers(0, len(words) - 1))
    words[place] = data.draw(st.sampled_from(["", "and", "every", "9", "monday", "foo", "-", "2026-12-24", "at", "ü"]))
    found = read(" ".join(words)[:CHARS_MAX], "Europe/Paris")
    assert found.set if isinstance(found, Phrase) else found.message


def steps(text: str, root: grammar.Part, *, tracing: bool) -> int:
    found = Text(text, tracing=tracing)
    root.ends(found, 0)
    return found.steps


PIECES = ["9am and", "mon,", "mon and", "mondays and", "day 1 and", "1 and", "first monday and", "mondays at 9am and",
          "every", "24 december and", "9:00 on 24 december 2026 and", "; and", "then", "1 day", "last to last",
          "mondays but only on mondays and", "1 times,", "until 2026-12-24,", "except 2026-12-24 and"]  # fmt: skip
OPENINGS = [
    "",
    "every day at ",
    "at 9am on ",
    "every ",
    "mondays at 9am except ",
    "mondays but only on ",
    "every day in ",
]


@settings(max_examples=300)
@given(st.sampled_from(OPENINGS), st.lists(st.sampled_from(PIECES), min_size=1, max_size=3), st.booleans())
@example("every day at ", ["1 and"], True)
@example("at 9am on ", ["mondays and"], True)
def test_hostile_text_takes_a_bounded_number_of_steps(opening: str, pieces: list[str], tracing: bool) -> None:
    for length in (CHARS_MAX // 2, CHARS_MAX):
        text = (opening + " ".join(pieces * CHARS_MAX))[:length]
        tokens = len(Text(text).tokens)
        for root in (SCHEDULE, NEAR):
            assert steps(text, root, tracing=tracing) <= 150 * tokens


# ---------------------------------------------------------------------------------------------------------------------
# Sets

SLOW: list[Freq] = ["DAILY", "WEEKLY", "MONTHLY", "YEARLY"]
QUICK: list[Freq] = ["HOURLY", "MINUTELY"]
MONTHDAYS = [*range(1, 32), -1, -2, -5]
PLAIN = st.lists(st.integers(0, 6), min_size=1, max_size=5).map(lambda days: tuple((0, day) for day in set(days)))
NUMBERED = st.lists(
    st.tuples(st.sampled_from([1, 2, 3, 4, 5, -1, -2]), st.integers(0, 6)), min_size=1, max_size=3, unique=True
).map(tuple)


def few(values: Any, most: int = 3) -> st.SearchStrategy[tuple[int, ...]]:
    return st.lists(st.sampled_from(list(values)), min_size=1, max_size=most, unique=True).map(tuple)


TIMES = st.one_of(
    st.tuples(few(range(24), 2), few([0, 15, 30, 45, 7], 2)),
    st.sampled_from(
        [(tuple(range(24)), tuple(range(0, 60, 15))), (tuple(range(24)), (5, 35)), (tuple(range(24)), (0,))]
    ),
    st.tuples(few(range(24), 9), few([0, 10, 30, 59])),
)
INSTANTS = st.integers(0, 60 * 24 * 400).map(lambda minute: ANCHOR + timedelta(minutes=minute))
WALLS = st.integers(-30, 60).map(lambda day: datetime(2026, 11, 30) + timedelta(days=day)) | INSTANTS.map(
    lambda instant: instant.replace(tzinfo=None)
)


@st.composite
def rules(draw: st.DrawFn, *, wild: bool) -> Rule:
    """A rule with a slot; a wild one with whatever the grammar has no words for."""
    freq = draw(st.sampled_from(QUICK + SLOW if wild else SLOW))
    hours, minutes = draw(TIMES)
    given: dict[str, Any] = {"byhour": hours, "byminute": minutes}
    if draw(st.integers(0, 3)) == 0:
        given["bymonth"] = draw(few(range(1, 13)))
    kinds = {
        "DAILY": ["", "plain", "days", "both"],
        "WEEKLY": ["plain"],
        "MONTHLY": ["plain", "days", "numbered", "both"],
    }
    kind = draw(st.sampled_from(kinds.get(freq, ["plain", "days", "numbered", "both", "year", "weeks"])))
    if kind in ("plain", "both", "weeks"):
        given["byday"] = draw(PLAIN)
    if kind in ("days", "both"):
        given["bymonthday"] = draw(few(MONTHDAYS))
    if kind == "numbered":
        given["byday"] = draw(NUMBERED)
    if kind == "year":
        given["byyearday"] = draw(few([1, 100, 366, -1, -10]))
    if kind == "weeks":
        given["byweekno"] = draw(few([1, 2, 20, 53, -1]))
    _bounds(draw, given)
    if wild:
        _wild(draw, given, freq)
    try:
        rule = Rule(freq, **given)
        assume(layer_of(rule).fires())
    except Invalid:
        assume(False)
        raise
    return rule


def _bounds(draw: st.DrawFn, given: dict[str, Any]) -> None:
    bound = draw(st.sampled_from(["", "", "interval", "start", "count", "until", "since", "both"]))
    if bound == "interval":
        given["interval"] = draw(st.sampled_from([2, 3, 4, 7, 12]))
    if bound in ("interval", "start", "count"):
        given["start"] = draw(WALLS)
    if bound == "count":
        given["count"] = draw(st.integers(1, 12))
    if bound in ("until", "both"):
        given["until"] = draw(INSTANTS) + timedelta(days=60)
    if bound in ("since", "both"):
        given["since"] = draw(INSTANTS)


def _wild(draw: st.DrawFn, given: dict[str, Any], freq: str) -> None:
    given["wkst"] = draw(st.sampled_from([0, 6]))
    given["second"] = draw(st.sampled_from([0, 0, 30]))
    if draw(st.booleans()) and freq in ("WEEKLY", "MONTHLY", "YEARLY"):
        given["bysetpos"] = draw(few([1, 2, 3, -1, -2], 2))
    if freq in ("HOURLY", "MINUTELY"):
        given["interval"], given["start"] = draw(st.sampled_from([1, 5, 7, 30])), draw(WALLS)
        given["byhour"] = draw(st.sampled_from([(), given["byhour"]]))


@st.composite
def sets(draw: st.DrawFn, *, wild: bool) -> RecurrenceSet:
    """Mostly one or two rules; sometimes a grid, single dates, left-out slots."""
    chosen = tuple(draw(st.lists(rules(wild=wild), max_size=2)))
    grids: tuple[Grid, ...] = ()
    if not chosen or draw(st.integers(0, 4)) == 0:
        until = draw(st.none() | INSTANTS.map(lambda instant: instant + timedelta(days=400)))
        grids = (Grid(draw(st.sampled_from([60, 90, 900, 5400, 86400, 1209600])), draw(INSTANTS), until),)
    dates = tuple(draw(st.lists(INSTANTS, max_size=2))) if draw(st.integers(0, 4)) == 0 else ()
    slots = RecurrenceSet(draw(ZONES), chosen, grids, dates)
    gap, repeat = default_policy(slots.rules)
    slots = replace(slots, gap=gap, repeat=repeat)
    if draw(st.integers(0, 3)) == 0:
        left_out = list(islice(slots.between(ANCHOR, ANCHOR + timedelta(days=900)), draw(st.integers(1, 3))))
        slots = replace(slots, exdates=tuple(left_out))
    return slots


def some(slots: RecurrenceSet) -> list[datetime]:
    return list(islice(slots.between(ANCHOR - timedelta(days=60), ANCHOR + timedelta(days=2000)), 200))


@settings(max_examples=250)
@given(sets(wild=False))
def test_the_words_of_a_set_read_back_to_the_set(slots: RecurrenceSet) -> None:
    words = describe(slots, slots.zone)
    assume(len(words) <= CHARS_MAX and words != "never" and "(clock changes" not in words)
    found = parse_schedule(words, slots.zone, anchor=LATER).set
    assert some(found) == some(slots)
    assert (found.gap, found.repeat) == (slots.gap, slots.repeat) or not found.rules


@settings(max_examples=250)
@given(sets(wild=True))
def test_no_words_are_read_as_another_set(slots: RecurrenceSet) -> None:
    words = describe(slots, slots.zone)
    try:
        found = parse_schedule(words, slots.zone, anchor=LATER).set
    except Invalid:
        return
    assert some(found) == some(slots)


@settings(max_examples=250)
@given(sets(wild=True), sets(wild=True))
def test_sets_with_different_slots_have_different_words(one: RecurrenceSet, other: RecurrenceSet) -> None:
    other = replace(other, zone=one.zone)
    if some(one) != some(other):
        assert describe(one, one.zone) != describe(other, other.zone)
