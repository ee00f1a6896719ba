"""No text makes a schedule that crashes, hangs or eats memory: it is refused as `Invalid`, or its answers are bounded.

Texts are drawn from the alphabets of cron lines, RFC 5545 rules and phrases, so that most get past the first look.
Hangs are caught by the suite's own time limit, not by a stop-watch; memory by what Python allocates at the worst.
"""

from __future__ import annotations

import tracemalloc
from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.errors import Invalid
from horae.timing.schedule import Schedule, parse_schedule

ANCHOR = datetime(2026, 11, 30, 8, tzinfo=UTC)
EARLY, LATE = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
ZONES = st.sampled_from(["UTC", "Europe/Berlin", "Australia/Lord_Howe", "Pacific/Apia"])


def _all_questions(schedule: Schedule) -> None:
    """Each is asked once, from where it costs most: the ends of the calendar, and a window of centuries."""
    slots = schedule.set
    assert schedule.meaning
    first = slots.next_after(ANCHOR)
    assert first is None or first > ANCHOR
    for instant in (EARLY, ANCHOR, LATE):
        before, after = slots.last_until(instant), slots.next_after(instant)
        assert before is None or before <= instant
        assert after is None or after > instant
        slots.contains(instant)
    found = list(islice(slots.between(ANCHOR, LATE), 20))
    assert found == sorted(set(found))
    slots.count(ANCHOR, ANCHOR + timedelta(days=60 * 365))


def _read(text: str, zone: str = "Europe/Berlin") -> Schedule | None:
    try:
        schedule = parse_schedule(text, zone, anchor=ANCHOR)
    except Invalid as refusal:
        if len(refusal.message) > 1000:
            pytest.fail("a refusal does not repeat a hostile text")
        return None
    _all_questions(schedule)
    return schedule


# --- drawn from the alphabets

NUMBERS = st.one_of(
    st.integers(-400, 400), st.sampled_from([0, 1, 31, 53, 59, 60, 366, 10**6, 10**9, 10**18, -(10**18)])
).map(str)
PARTS = ("INTERVAL", "COUNT", "BYMONTH", "BYMONTHDAY", "BYYEARDAY", "BYWEEKNO", "BYHOUR", "BYMINUTE", "BYSETPOS")
DAYS = st.tuples(
    st.sampled_from(["", "1", "-1", "5", "+2", "54", "0"]),
    st.sampled_from(["MO", "TU", "WE", "TH", "FR", "SA", "SU", "XX"]),
)
WEEKDAYS = st.lists(DAYS.map("".join), min_size=1, max_size=5).map(",".join)
MOMENTS = st.sampled_from(
    ["20260101T090000", "20260101T090000Z", "20260101", "19700101T000000", "99991231T235959", "00010101T000000", "2026"]
)
VALUES = st.lists(NUMBERS, min_size=1, max_size=6).map(",".join)
RULE_PARTS = st.one_of(
    st.tuples(st.sampled_from(PARTS), VALUES),
    st.tuples(st.just("BYDAY"), WEEKDAYS),
    st.tuples(st.just("UNTIL"), MOMENTS),
    st.tuples(st.just("WKST"), st.sampled_from(["MO", "SU", "X"])),
    st.tuples(st.sampled_from(["", "X-A", "RSCALE", "BYSECOND", "FREQ"]), VALUES),
).map("=".join)
FREQUENCIES = st.sampled_from(["YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY", "X"]).map(
    "FREQ={}".format
)
RULES = st.tuples(FREQUENCIES, st.lists(RULE_PARTS, max_size=5)).map(lambda pair: ";".join([pair[0], *pair[1]]))
PROPERTIES = st.one_of(
    RULES.map("RRULE:{}".format),
    MOMENTS.map("DTSTART:{}".format),
    MOMENTS.map("DTSTART;TZID=Europe/Berlin:{}".format),
    st.lists(MOMENTS, min_size=1, max_size=3).map(lambda moments: f"EXDATE:{','.join(moments)}"),
    st.lists(MOMENTS, min_size=1, max_size=3).map(lambda moments: f"RDATE;TZID=Asia/Tokyo:{','.join(moments)}"),
    MOMENTS.map("RECURRENCE-ID:{}".format),
    st.sampled_from(["EXRULE:FREQ=DAILY", "STATUS:CANCELLED", "BEGIN:VEVENT", "DTEND:20260101", "X:1", ";", ":"]),
)
CALENDARS = st.lists(PROPERTIES, min_size=1, max_size=5).map(" ".join)
PLAIN_RULES = st.tuples(MOMENTS, RULES).map(lambda pair: f"DTSTART;TZID=Europe/Berlin:{pair[0]} RRULE:{pair[1]}")

CRON_FIELD = st.one_of(
    st.sampled_from(["*", "*/2", "*/90", "?", "L", "LW", "15W", "L-3", "5L", "1#2", "MON", "jan-mar", "1-5/2", "*/0"]),
    st.lists(NUMBERS, min_size=1, max_size=3).map(",".join),
    st.text(alphabet="0123456789*/-,#LW?", min_size=1, max_size=6),
)
CRON_LINES = st.lists(CRON_FIELD, min_size=4, max_size=6).map(" ".join)

WORDS = """
    every in on at from to until between and the of last first second other day days week weeks month months year
    monday tuesdays weekday weekdays weekend january 24 december minute minutes hour hours 9am 9:30pm 18:30 noon
    midnight today tomorrow next quarter 2 3rd 31st 90 1.5 30m 2h once daily hourly before after except starting
    2026-12-24
"""
PHRASES = st.lists(st.sampled_from(WORDS.split()), min_size=1, max_size=9).map(" ".join)


@given(CALENDARS | PLAIN_RULES, ZONES)
def test_rfc_5545_texts(text: str, zone: str) -> None:
    _read(text, zone)


@given(CRON_LINES, ZONES)
def test_cron_lines(text: str, zone: str) -> None:
    _read(text, zone)


@given(PHRASES, ZONES)
def test_phrases(text: str, zone: str) -> None:
    _read(text, zone)


@given(st.data())
def test_texts_with_one_character_changed(data: st.DataObject) -> None:
    """What is nearly right gets furthest."""
    text = data.draw(CALENDARS | PLAIN_RULES | CRON_LINES | PHRASES)
    place = data.draw(st.integers(0, len(text)))
    _read(text[:place] + data.draw(st.characters()) + text[place + data.draw(st.integers(0, 2)) :])


# --- hostile on purpose

SINCE_1970 = "DTSTART;TZID=Europe/Berlin:19700101T000000 RRULE:FREQ="
WEEK = "BYDAY=MO,TU,WE,TH,FR,SA,SU"
SINCE_2016 = "DTSTART;TZID=Europe/Berlin:20160101T000000 RRULE:FREQ="
MINUTES = ",".join(map(str, range(60)))
HOURS = ",".join(map(str, range(24)))
ALL = f"{WEEK};BYHOUR={HOURS};BYMINUTE={MINUTES}"
YEARDAYS = ",".join(map(str, [*range(-366, 0), *range(1, 367)]))
STAMPS = [f"{datetime(2026, 1, 1) + timedelta(hours=hour):%Y%m%dT%H%M%S}" for hour in range(400)]

REFUSED = {
    "a billion": f"{SINCE_1970}MINUTELY;COUNT=1000000000",
    "a billion of the rare": f"{SINCE_1970}YEARLY;BYMONTH=2;BYMONTHDAY=29;COUNT=1000000",
    "a list of 5,000 characters": f"{SINCE_1970}DAILY;BYMINUTE={','.join(['1'] * 2500)}",
    "a list of 2,100 values": f"{SINCE_1970}YEARLY;BYMONTHDAY={','.join(['1'] * 2030)}",
    "a huge interval": f"{SINCE_1970}DAILY;INTERVAL=1000000000000000000",
    "a huge ordinal": f"{SINCE_1970}MONTHLY;BYDAY=999999999999999999MO",
    "every second": f"{SINCE_1970}SECONDLY",
    "never": f"{SINCE_1970}MINUTELY;BYMONTH=2;BYMONTHDAY=30",
    "never, by step": f"{SINCE_1970}MINUTELY;INTERVAL=1440;BYHOUR=5;BYMINUTE=1",
    "never, by position": f"{SINCE_1970}MINUTELY;BYSETPOS=2",
    "a part without end": f"{SINCE_1970}DAILY;" + ";".join(["BYHOUR=1"] * 300),
    "digits of other scripts": f"{SINCE_1970}DAILY;INTERVAL=٢",
    "digits of other scripts in cron": "٣ * * * *",
    "full-width digits": "０ ９ * * *",
    "a NUL": "0 9 * * *\0",
    "a NUL in a rule": f"{SINCE_1970}DAILY\0",
    "turned around": "0 9 * * *\u202e",
    "a long number": f"{'9' * 4000} * * * *",
    "a long list": f"{','.join(['1'] * 3000)} * * * *",
    "nested": "(" * 2000 + ")" * 2000,
    "a huge step of time": "every 99999999999999999999 minutes",
    "many words": "every " * 800,
    "many words of a kind": "every monday and " * 200 + "tuesday at 9am",
    "many blocks": " ".join([f"DTSTART:20260101T000000Z RRULE:FREQ=DAILY;BYHOUR={hour % 24}" for hour in range(200)]),
}  # fmt: skip

BOUNDED = {
    "minutely since 1970": f"{SINCE_1970}MINUTELY",
    "minutely since 1970 by a prime": f"{SINCE_1970}MINUTELY;INTERVAL=999983",
    "all minutes of a year, the last of them": f"{SINCE_2016}YEARLY;{ALL};BYSETPOS=-1",
    "all minutes of a month, one of them": f"{SINCE_2016}MONTHLY;{ALL};BYSETPOS=-40000,40000",
    "29 February on a Monday": f"{SINCE_2016}YEARLY;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO",
    "a long count": f"{SINCE_2016}MINUTELY;COUNT=1000000",
    "every day of a year": f"{SINCE_2016}YEARLY;BYYEARDAY={YEARDAYS}",
    "many left out": f"{SINCE_2016}HOURLY EXDATE;TZID=Europe/Berlin:{','.join(STAMPS[:230])}",
    "many dates": f"DTSTART:20260101T000000Z RDATE;TZID=Europe/Berlin:{','.join(STAMPS[:230])}",
    "a full list": f"{MINUTES} {HOURS} * * *",
}  # fmt: skip


def _peak_mib(text: str) -> tuple[Schedule | None, float]:
    tracemalloc.start()
    try:
        schedule = _read(text)
        return schedule, tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.timeout(20)
@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_hostile_texts_are_refused(text: str) -> None:
    schedule, peak = _peak_mib(text)
    assert schedule is None
    assert peak < 8


@pytest.mark.timeout(20)
@pytest.mark.parametrize("text", BOUNDED.values(), ids=BOUNDED)
def test_heavy_texts_are_answered_all_the_same(text: str) -> None:
    schedule, peak = _peak_mib(text)
    assert schedule is not None
    assert schedule.set.last_until(ANCHOR.replace(year=2100)) is not None
    assert peak < 32
