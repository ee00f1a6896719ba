"""Laws of the policies: catching up in parts is catching up at once, retries rise and end, calendars agree with an oracle."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, get_args
from zoneinfo import ZoneInfo

import tzdata  # noqa: F401  (the zones that the oracle reads)
from hypothesis import assume, given
from hypothesis import strategies as st

from horae.core.admission import Standing, decide
from horae.core.calendarform import calendar_of
from horae.core.catchup import Open, catch_up, passed
from horae.core.exclusion import excluded
from horae.core.model import CatchUp, Overlap, Retries
from horae.core.outcome import judge
from horae.core.retry import retry_delay
from horae.core.spread import spread_offset_s
from horae.timing.recurrence import RecurrenceSet
from horae.timing.schedule import parse_schedule
from tests.support.builders import MINUTE, SECOND, START, a_job, a_result

EVERY = parse_schedule("every 7 minutes from 2026-03-02T08:00:00+00:00", "UTC", anchor=START).set

# ── catching up


@given(st.integers(0, 900), st.integers(0, 900), st.integers(0, 200))
def test_P1_with_all_catching_up_in_two_parts_is_catching_up_at_once(first: int, second: int, spread_s: int) -> None:
    job = a_job(catch_up="all")
    spread = timedelta(seconds=spread_s)
    planned = Open(START, START + spread)
    middle, end = START + spread + first * MINUTE, START + spread + (first + second) * MINUTE
    whole = catch_up(job, passed(job, EVERY, planned, end), end)
    earlier = passed(job, EVERY, planned, middle)
    following = EVERY.next_after(earlier[-1].slot)
    later = (
        ()
        if following is None or following + spread > end
        else passed(job, EVERY, Open(following, following + spread), end)
    )
    assert [each.slot for each in whole.kept] == [each.slot for each in (*earlier, *later)]
    assert not whole.settled


@given(
    st.sampled_from(get_args(CatchUp)), st.integers(0, 3000), st.none() | st.integers(1, 10**6), st.integers(0, 20),
    st.sets(st.integers(1, 400), max_size=5),
)  # fmt: skip
def test_P1_what_passed_is_kept_or_settled_and_never_both(
    chosen: CatchUp, minutes: int, limit: int | None, busy: int, spoken: set[int]
) -> None:
    job = a_job(catch_up=chosen, not_later_than_s=limit)
    now = START + minutes * MINUTE
    spoken_for = {START + 7 * number * MINUTE for number in spoken}

    def why(slot: datetime) -> str | None:
        return "quiet" if slot.minute < busy else None

    open_slots = passed(job, EVERY, Open(START, START), now, spoken_for, why)
    found = catch_up(job, open_slots, now)
    given_back = [*found.kept, *(settled.open for settled in found.settled)]
    assert sorted(given_back, key=repr) == sorted(open_slots, key=repr)
    assert sum(each.count for each in open_slots) == EVERY.count(START - SECOND, now) - sum(
        START < slot <= now for slot in spoken_for
    )
    for each in found.kept:
        assert each.count == 1
        assert why(each.slot) is None
        assert limit is None or now - each.due <= timedelta(seconds=limit)


class Mill:
    """A job that is looked at now and then, under a policy: what the store does with the answers, and nothing else."""

    def __init__(self, **policy: Any) -> None:
        self.job = a_job(**policy)
        self.cursor = START
        self.held: list[Open] = []
        self.live: list[Open] = []
        self.ended: dict[datetime, str] = {}

    def settle(self, some: Open, outcome: str) -> None:
        for slot in EVERY.between((some.first or some.slot) - SECOND, some.slot):
            assert slot not in self.ended, "an outcome is written once"
            self.ended[slot] = outcome

    def look(self, now: datetime) -> None:
        due = [*self.held]
        new = () if self.cursor > now else passed(self.job, EVERY, Open(self.cursor, self.cursor), now)
        answers = decide(self.job, [*due, *new], Standing(bool(self.live)), now)
        if new and not set(new) & set(answers.stay):
            self.cursor = EVERY.next_after(new[-1].slot) or now
        for settled in answers.settled:
            self.settle(settled.open, settled.outcome)
        gone = {*answers.start, *(settled.open for settled in answers.settled)}
        kept = [each for each in self.held if each not in gone]
        self.held = [*kept, *(Open(each.slot, each.due, held=True) for each, _ in answers.hold)]
        self.live += answers.start
        if answers.cancel is not None:
            self.finish()

    def finish(self) -> None:
        for each in self.live:
            self.settle(each, "ran")
        self.live.clear()


@given(
    st.sampled_from(get_args(CatchUp)),
    st.sampled_from(get_args(Overlap)),
    st.lists(st.tuples(st.integers(0, 60), st.booleans()), max_size=30),
    st.none() | st.integers(60, 7200),
)
def test_P1_in_any_course_of_looks_each_slot_ends_once(
    chosen: CatchUp, overlap: Overlap, course: Sequence[tuple[int, bool]], limit: int | None
) -> None:
    mill = Mill(catch_up=chosen, overlap=overlap, not_later_than_s=limit)
    now = START
    for minutes, ends in course:
        now += minutes * MINUTE
        if ends:
            mill.finish()
        mill.look(now)
        assert overlap == "allow" or len(mill.live) <= 1
    for _ in range(1000):
        mill.finish()
        mill.look(now)
        if not mill.live and not mill.held:
            break
    expected = [*EVERY.between(START - SECOND, now)]
    assert sorted(mill.ended) == expected
    if chosen == "all" and overlap in ("queue", "allow") and limit is None:
        assert set(mill.ended.values()) <= {"ran"}


# ── retries


@given(
    st.integers(1, 100),
    st.integers(1, 10**5),
    st.none() | st.integers(1, 10**6),
    st.text("0123456789abcdef", min_size=8),
)
def test_retries_rise_up_to_their_ceiling_and_never_pass_it(
    most: int, backoff: int, ceiling: int | None, key: str
) -> None:
    assume(ceiling is None or ceiling >= backoff)
    job = a_job(retries=Retries(most, float(backoff), ceiling if ceiling is None else float(ceiling)))
    ending = judge("Tides", a_result(exit_code=1))
    pauses = [retry_delay(job, ending, attempt, key) for attempt in range(1, most + 2)]
    assert pauses.pop() is None
    known = [pause for pause in pauses if pause is not None]
    assert len(known) == most
    assert known[0] >= backoff
    assert all(one < other or one == other == known[-1] for one, other in itertools.pairwise(known))
    assert known[-1] <= (max(backoff, 600) if ceiling is None else ceiling)
    assert known == [retry_delay(job, ending, attempt, key) for attempt in range(1, most + 1)]


@given(st.text("0123456789abcdef", min_size=12, max_size=12), st.integers(0, 86400))
def test_a_spread_lies_inside_of_itself(job_id: str, spread: int) -> None:
    assert 0 <= spread_offset_s(job_id, spread) < max(1, spread)


# ── exclusion calendars against an oracle that looks at the wall clock, minute by minute


ZONES = ["Europe/Paris", "America/New_York", "Australia/Lord_Howe", "Asia/Tokyo", "America/Sao_Paulo", "Pacific/Apia"]
NAMES = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
CHANGES = [datetime(2026, 3, 29, 1), datetime(2026, 10, 25, 1), datetime(2026, 3, 8, 7), datetime(2026, 11, 1, 6),
           datetime(2026, 4, 4, 15), datetime(2026, 12, 31, 23), datetime(2028, 2, 29, 12)]  # fmt: skip
clocks = st.tuples(st.integers(0, 23), st.integers(0, 59))
windows = st.tuples(clocks, clocks).filter(lambda pair: pair[0] != pair[1])
days = st.dates(date(2026, 1, 1), date(2028, 12, 31))
ranges = st.tuples(days, st.integers(0, 40))
instants = st.one_of(
    st.datetimes(datetime(2026, 1, 1), datetime(2028, 12, 31)),
    st.tuples(st.sampled_from(CHANGES), st.integers(-300, 300)).map(lambda pair: pair[0] + pair[1] * MINUTE),
).map(lambda naive: naive.replace(tzinfo=UTC, microsecond=0))


def oracle(
    local: datetime, hours: Sequence[Any], weekdays: Sequence[int], single: Sequence[Any], yearly: Sequence[Any]
) -> bool:
    """Step by step, and in another way than the code: no window is cut at midnight, days are listed one by one."""
    day = local.date()
    if any(first <= day <= first + timedelta(days=more) for first, more in single):
        return True
    for first, more in yearly:
        for year in range(day.year - 1, day.year + 2):
            try:
                begin = first.replace(year=year)
                end = (first + timedelta(days=more)).replace(
                    year=year + (first + timedelta(days=more)).year - first.year
                )
            except ValueError:  # 29 February: only in its years, and as the edge of a range the day beside it
                continue
            if begin <= day <= end:
                return True
    if day.weekday() in weekdays:
        return True
    wall = local.replace(tzinfo=None)
    for (first_h, first_m), (last_h, last_m) in hours:
        for back in (0, 1):
            start = datetime.combine(day - timedelta(days=back), datetime.min.time()) + timedelta(
                hours=first_h, minutes=first_m
            )
            length = ((last_h * 60 + last_m) - (first_h * 60 + first_m)) % 1440
            if start <= wall < start + timedelta(minutes=length):
                return True
    return False


@given(
    instants, st.sampled_from(ZONES), st.none() | st.sampled_from(ZONES), st.lists(windows, max_size=2),
    st.sets(st.integers(0, 6), max_size=2), st.lists(ranges, max_size=2), st.lists(ranges, max_size=2),
)  # fmt: skip
def test_a_calendar_agrees_with_the_oracle(
    instant: datetime, place: str, own: str | None, hours: Any, weekdays: set[int], single: Any, yearly: Any
) -> None:
    leap_day = {(2, 29)}
    edges = {(edge.month, edge.day) for first, more in yearly for edge in (first, first + timedelta(days=more))}
    assume(not edges & leap_day)
    assume(hours or weekdays or single or yearly)
    dates = [f"{first}..{first + timedelta(days=more)}" for first, more in single]
    dates += [f"{first:%m-%d}..{first + timedelta(days=more):%m-%d}" for first, more in yearly]
    table: dict[str, Any] = {
        "dates": dates,
        "weekdays": [NAMES[day] for day in weekdays],
        "hours": [f"{a:02}:{b:02}-{c:02}:{d:02}" for (a, b), (c, d) in hours],
    }
    if own is not None:
        table["timezone"] = own
    calendar = calendar_of("quiet", table, lambda _file, _place: None)
    local = instant.astimezone(ZoneInfo(own or place))
    found = excluded({"quiet": calendar}, ["absent", "quiet"], instant, place)
    assert (found is not None) == oracle(local, hours, sorted(weekdays), single, yearly)
    assert found is None or found.startswith("quiet: ")


# ── a window cuts the slots, and nothing else


RULES = ["weekdays at 18:30", "*/20 * * * *", "every 90 minutes", "0 2 * * *", "every 2 weeks on monday at 9:00",
         "2026-10-25T02:30", "RRULE:FREQ=DAILY;COUNT=40;BYHOUR=2;BYMINUTE=30", "last friday of the month at 17:00",
         "every day at 2:30 until 2026-11-20"]  # fmt: skip


@given(
    st.sampled_from(RULES),
    st.sampled_from(ZONES),
    st.integers(-100, 4000),
    st.integers(0, 4000),
    st.integers(-200, 9000),
)
def test_P12_a_window_leaves_the_slots_inside_of_it(rule: str, place: str, begin: int, length: int, ask: int) -> None:
    start = datetime(2026, 9, 1, 0, 17, tzinfo=UTC)
    slots = parse_schedule(rule, place, anchor=start).set
    low, high = start + begin * 17 * MINUTE, start + (begin + length) * 17 * MINUTE
    cut: RecurrenceSet = slots.beginning(low).ending(high)
    inside = list(slots.between(low - SECOND, high))
    assert [*cut.between(start - timedelta(days=60), start + timedelta(days=400))] == inside
    assert cut.count(start - timedelta(days=60), start + timedelta(days=400)) == len(inside)
    at = start + ask * 11 * MINUTE
    assert cut.next_after(at) == next((slot for slot in inside if slot > at), None)
    assert cut.last_until(at) == next((slot for slot in reversed(inside) if slot <= at), None)
    assert all(map(cut.contains, inside))
    for slot in (slots.last_until(low - SECOND), slots.next_after(high)):
        assert slot is None or not cut.contains(slot)
