"""Laws of slots under zone data that changed, over pairs of real laws: by one they were planned, the other holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from horae.core.zonechange import Ahead, Course, Passed, Standing, first_free, follow
from horae.timing.recurrence import RecurrenceSet
from horae.timing.schedule import parse_schedule
from horae.timing.zones import offset_s

DAY = timedelta(days=1)
ANCHOR = datetime(2026, 1, 1, tzinfo=UTC)
LAWS = ("America/Vancouver", "America/Los_Angeles", "America/Phoenix", "America/Denver", "UTC", "Europe/Paris",
        "Africa/Lagos", "Europe/London", "Asia/Kolkata", "Australia/Adelaide", "Australia/Lord_Howe",
        "Pacific/Kiritimati", "Pacific/Honolulu", "Pacific/Apia", "Pacific/Pago_Pago")  # fmt: skip
# No clock changes at these hours, so that a wall time is one instant by every law
times = st.lists(st.integers(5 * 60, 22 * 60), min_size=1, max_size=4, unique=True)
moments = st.integers(0, 400 * 86400).map(lambda seconds: ANCHOR + timedelta(seconds=seconds))


def at_times(minutes: list[int], zone: str) -> RecurrenceSet:
    listed = " and ".join(f"{minute // 60}:{minute % 60:02}" for minute in minutes)
    return parse_schedule(f"every day at {listed}", zone, anchor=ANCHOR).set


@dataclass
class Record:
    """What is on record of a job whose slots were planned by one law when another holds."""

    slots: RecurrenceSet
    zone: str
    now: datetime
    cursor: Ahead | Passed
    passed: list[Passed]
    begun: datetime
    closed: list[Ahead] = field(default_factory=list[Ahead])

    def has(self, slot: datetime) -> bool:
        """Whether there is a row that is what it is."""
        return any(row.slot == slot for row in self.passed)

    def has_any(self, slot: datetime) -> bool:
        return self.has(slot) or any(row.slot == slot for row in self.closed)

    def follow(self) -> Course:
        others = tuple(sorted(row for row in self.closed if row.slot > self.now))
        return follow(self.slots, Standing(self.zone, self.cursor, self.begun, others, tuple(self.passed)), self.has)

    def row(self, slot: datetime, law: str) -> Ahead | Passed:
        offset = offset_s(slot, law)
        return Ahead(slot.isoformat(), slot, offset, None) if slot > self.now else Passed(slot, offset)

    def apply(self, course: Course) -> None:
        """As the store does it."""
        for _, slot in course.closed:
            row = self.row(slot, self.zone)
            if isinstance(row, Passed):
                self.passed.append(row)
            else:
                self.closed.append(row._replace(key=f"closed {row.key}", exception="skip"))
        slot = place(course, self.cursor)
        assert slot not in {slot for _, slot in course.closed}, "two rows cannot share a slot"
        if course.outrun:
            slot = first_free(self.slots, course.after, lambda slot: not self.has_any(slot))
        if slot is None or (slot == self.cursor.slot and slot.isoformat() in course.kept):
            return
        if slot != self.cursor.slot or isinstance(self.cursor, Ahead):
            self.cursor = self.row(slot, self.zone)
        if isinstance(self.cursor, Passed) and not self.has(slot):
            self.passed.append(self.cursor)
        self.begun = self.now

    def ahead(self, until: datetime) -> list[tuple[datetime, datetime]]:
        """(slot, wall time) of what will have its turn from the cursor on."""
        found = [(self.cursor.slot, wall(self.cursor.slot, self.cursor.offset_s))]
        while found[-1][0] < until:
            slot = first_free(self.slots, found[-1][0], lambda slot: not self.has_any(slot))
            assert slot is not None
            found.append((slot, wall(slot, offset_s(slot, self.zone))))
        return found


def place(course: Course, cursor: Ahead | Passed) -> datetime | None:
    return next((slot for row, slot in course.places if row is cursor), cursor.slot)


def wall(instant: datetime, offset: int) -> datetime:
    return instant + timedelta(seconds=offset)


@st.composite
def records(draw: st.DrawFn, *, changed: bool = True) -> Record:
    """Some days of runs; some slots that ran early; then perhaps a downtime, in which the cursor came due."""
    minutes, law, seen = draw(times), draw(st.sampled_from(LAWS)), draw(moments)
    zone = draw(st.sampled_from(LAWS)) if changed else law
    old = at_times(minutes, law)
    coming = list(old.between(seen, seen + 8 * DAY))
    early = draw(st.sets(st.sampled_from(coming[:6]), max_size=4))
    had = [*old.between(seen - 3 * DAY, seen), *early]
    now = seen + timedelta(minutes=draw(st.sampled_from([0, 0, 1, 60, 700, 3000])))
    record = Record(
        at_times(minutes, zone), zone, now, Passed(seen, 0), [Passed(slot, offset_s(slot, law)) for slot in had], seen
    )
    record.cursor = record.row(next(slot for slot in coming if slot not in early), law)
    if isinstance(record.cursor, Passed):
        record.passed.append(record.cursor)
        record.begun = record.cursor.slot
    return record


@settings(max_examples=300)
@given(records())
def test_P2_no_wall_time_has_its_turn_twice(record: Record) -> None:
    had = {wall(*row) for row in record.passed}
    due = record.cursor if isinstance(record.cursor, Passed) else None
    record.apply(record.follow())
    again = [slot for slot, shown in record.ahead(record.now + 6 * DAY) if shown in had and slot != (due and due.slot)]
    assert again == []


@settings(max_examples=300)
@given(records())
def test_P1_no_wall_time_is_lost(record: Record) -> None:
    """But one whose instant had its turn, or has it now, under another name: two slots cannot share it."""
    first = min(wall(*row) for row in record.passed)
    record.apply(record.follow())
    ahead = record.ahead(record.now + 6 * DAY)
    had = {wall(*row) for row in record.passed} | {shown for _, shown in ahead}
    gone = {row.slot for row in record.passed} | {slot for slot, _ in ahead}
    every = [
        (slot, wall(slot, offset_s(slot, record.zone)))
        for slot in record.slots.between(record.now - 5 * DAY, record.now + 4 * DAY)
    ]
    assert [slot for slot, shown in every if shown > first and shown not in had and slot not in gone] == []


@settings(max_examples=300)
@given(records(), st.integers(0, 3))
def test_asking_again_gives_the_same(record: Record, seconds: int) -> None:
    record.apply(record.follow())
    if record.cursor.slot > record.now + timedelta(seconds=seconds):  # else it comes due meanwhile
        record.now += timedelta(seconds=seconds)
    cursor, closed = record.cursor, list(record.closed)
    course = record.follow()
    assert (place(course, cursor), course.outrun, course.closed) == (cursor.slot, False, ())
    assert [slot for row, slot in course.places if row is not cursor] == sorted(
        row.slot for row in closed if row.slot > record.now
    )


@given(records(changed=False))
def test_the_same_law_changes_nothing(record: Record) -> None:
    course = record.follow()
    assert (place(course, record.cursor), course.outrun, course.closed) == (record.cursor.slot, False, ())
    assert course.kept == frozenset()
