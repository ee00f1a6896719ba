"""Why: the chain of decisions about a job's slots, past or to come, and the story that they tell (`core/story.py`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from horae.app.exceptions import KEY, moment, slot_of
from horae.app.jobs import NO_GATEWAY, Found, find, gone_words
from horae.app.upcoming import FAR, by_repeat, clock_words, decided_of, slot_json, slots_of, unread, within
from horae.core.cadence import DAMAGE
from horae.core.exclusion import excluded
from horae.core.identity import slot_key
from horae.core.instants import from_us, to_us
from horae.core.labels import offered, unoffered
from horae.core.model import Job
from horae.core.story import Around, story
from horae.core.uptime import Uptime, downtimes
from horae.errors import Invalid, NotFound
from horae.ports import Home, Past, Reader, Record
from horae.timing.notes import ClockNotes
from horae.timing.recurrence import RecurrenceSet
from horae.timing.schedule import parse_schedule

Json = dict[str, Any]
KEYS_LOOKED_AT = 2000  # slots ahead whose key a person may mean
AHEAD_MAX = 1000  # open slots of a job that count for its `repeat`
KINDS = {"cron": "the cron line", "rrule": "the rule", "once": "the instant"}
WAITS = "it gets a row when the slot before it is used up"


def why(home: Home, *, job: str, slot: str | None = None, limit: int = 10) -> Json:
    """The decisions about a job's latest slots, or about one slot, past or to come."""
    found = find(home, job, removed=True)
    row = found.row
    reader, past = home.read(), home.past()
    try:
        asked = _Asked(home, found, reader, past, job)
        items = asked.latest(limit) if slot is None else asked.one(slot, limit)
        shown = {key: row[key] for key in ("id", "slug", "name", "state", "completed_reason")}
        shown["removed_at"] = None if row["removed_at"] is None else _utc(row["removed_at"])
        return {"job": shown, "occurrences": [{**item, "story": asked.story(item)} for item in items]}
    finally:
        reader.close()
        past.close()


class _Asked:
    """One job that is asked about, and what is known around its slots."""

    def __init__(self, home: Home, found: Found, reader: Reader, past: Past, name: str) -> None:
        self._name = name
        self._home = home
        self._row = found.row
        self._job = found.job
        self._reader = reader
        self._past = past
        self._now = home.clock.now()
        self._uptimes: list[Uptime] | None = None

    # ── which

    def latest(self, limit: int) -> list[Json]:
        """The latest ones, newest first."""
        return self._reader.occurrences(self._row["id"], slot_at=None, limit=limit)

    def one(self, text: str, limit: int) -> list[Json]:
        """The one that a person means by an instant, a key or `next`, and what else was due at that instant."""
        row = self._row
        item = self._reader.occurrence_by_key(text)
        if item is not None and item["job_id"] == row["id"]:
            return [self._reader.occurrence(item)]
        if KEY.fullmatch(text):
            return [self._unplanned(self._by_key(text), text)]
        if text == "next" and row["removed_at"] is not None:
            hint = f"`horae why {self._name}` shows what is on record; `horae undo` or its file put back brings it back"
            raise NotFound(f"{row['slug']} has no next slot: {gone_words(row)}", hint)
        at = slot_of(self._home, row, text) if text == "next" else moment(text, row["timezone"], self._now)
        found = self._reader.occurrences(row["id"], slot_at=to_us(at), limit=limit)
        return found or [self._unplanned(at, text)]

    def _by_key(self, key: str) -> datetime:
        slots = self._slots()
        ahead = islice(slots.between(self._now, self._now + FAR), KEYS_LOOKED_AT) if slots is not None else ()
        for slot in ahead:
            if slot_key(self._row["id"], slot) == key:
                return slot
        hint = "`horae next` and `horae why JOB` list its slots and their keys"
        raise NotFound(f"{self._row['slug']} has no slot with the key {key}", hint)

    def _slots(self) -> RecurrenceSet | None:
        try:
            return slots_of(self._row) if self._row["definition"] else None
        except DAMAGE:
            return None

    def _unplanned(self, at: datetime, text: str) -> Json:
        """A slot without a row: still too far ahead, or never one of this job's."""
        row, slots = self._row, self._slots()
        if slots is None or not slots.contains(at):
            raise self._no_slot(slots, at, text)
        if at <= self._now:
            hint = f"it exists since {_utc(row['created_at'])}"
            if row["cadence_at"] > to_us(at) and row["cadence_at"] > row["created_at"]:
                hint = (
                    f"it has had this schedule since {_utc(row['cadence_at'])}, and that slot would have been before it"
                )
            raise NotFound(f"{row['slug']} has no record of a slot at {text}", hint)
        detail = {"by": row["schedule"], "zone": row["timezone"], "note": self._note(slots, at)}
        decision = {"entry": None, "at": None, "actor": "schedule", "what": "ahead", "detail": detail, "run_id": None}
        shown = slot_json(at, row["timezone"], slot_key(row["id"], at), None)
        return {**shown, "trigger": "schedule", "state": "planned", "outcome": None, "reason": None, "exception": None,
                "missed": 0, "span": None, "decisions": [decision]}  # fmt: skip

    def _note(self, slots: RecurrenceSet, at: datetime) -> str:
        if self._row["removed_at"] is not None:
            return "it will not run, since the job was removed; it would be"
        if self._row["state"] == "completed":
            return f"it will not run, since the job is completed ({self._row['completed_reason']}); it would be"
        if self._beyond_repeat(slots, at):
            return f"it will not run, since the job runs {self._row['repeat_max']} times and others come first; it would be"
        return WAITS

    def _no_slot(self, slots: RecurrenceSet | None, at: datetime, text: str) -> NotFound:
        """Why an instant is no slot, and which are near."""
        row = self._row
        says = f"{row['slug']} has no slot at {text}"
        if slots is None:
            return NotFound(says, "`horae doctor` says what is wrong with its file")
        if row["starts_at"] is not None and to_us(at) < row["starts_at"]:
            says += f": it begins at {_local(row['starts_at'], row['timezone'])}"
        elif row["ends_at"] is not None and to_us(at) > row["ends_at"]:
            says += f": it ends at {_local(row['ends_at'], row['timezone'])}"
        else:
            left = ClockNotes(slots).left_out(at - timedelta(hours=1), at + timedelta(hours=1))
            says += "".join(f": {note.text}" for note in left[:1])
        near = [slots.last_until(at), slots.next_after(at)]
        listed = " or ".join(_local(to_us(slot), row["timezone"]) for slot in near if slot is not None)
        return NotFound(
            says, f"the nearest are {listed}" if listed else "`horae next` and `horae why JOB` list its slots"
        )

    # ── what was and is around it

    def story(self, item: Json) -> list[str]:
        """What is told about one occurrence."""
        job = self._job
        due, until = datetime.fromisoformat(item["due"]), self._acted(item)
        planned = next((each for each in item["decisions"] if each["what"] in ("planned", "ahead")), None)
        source = None
        if planned is not None:
            source = self._source(planned["detail"].get("by") or "")
        elif self._row["cadence_at"] <= to_us(due):
            source = self._source(self._row["schedule"])
        around = Around(
            now=self._now,
            source=source,
            zone=self._row["timezone"],
            downs=downtimes(self._gateways(), due, until) if until is not None else (),
            slept=self._slept(due, until) if until is not None else (),
            ahead=self._ahead(item),
            **({} if job is None else _policies(job)),
        )
        return story(item, around)

    def _acted(self, item: Json) -> datetime | None:
        """Until when it was waited for something to be done about a slot; None while it is not due yet."""
        due = datetime.fromisoformat(item["due"])
        for each in item["decisions"]:
            at = each["at"] and datetime.fromisoformat(each["at"])
            if at and at >= due and each["actor"] == "gateway" and each["what"] != "planned":
                return at
        return self._now if item["outcome"] is None and due <= self._now else None

    def _gateways(self) -> list[Uptime]:
        """When gateways ran, of all that are on record."""
        if self._uptimes is None:
            rows = self._past.gateways(to_us(self._now))
            last = rows[-1]["id"] if rows else None
            self._uptimes = [self._uptime(row, newest=row["id"] == last) for row in rows]
        return self._uptimes

    def _uptime(self, row: Json, *, newest: bool) -> Uptime:
        signed_off = row["stopped_at"] is not None
        if self._home.settings.store is not None:
            alive = row["lease_until"] > to_us(self._now)
        else:  # one at a time, and it holds the home
            alive = newest and self._home.gateway
        if not signed_off and row["lost_at"] is None and alive:
            return Uptime(from_us(row["since_at"]), None, stopped=False)
        heard = row["heard_at"] if row["lost_at"] is None else min(row["heard_at"], row["lost_at"])
        return Uptime(from_us(row["since_at"]), from_us(heard), stopped=signed_off)

    def _slept(self, since: datetime, until: datetime) -> list[tuple[datetime, datetime]]:
        found: list[tuple[datetime, datetime]] = []
        for at, detail in self._past.clock_changes(to_us(since), to_us(until)):
            if (detail.get("slept_s") or 0) > 0:
                found.append((from_us(at) - timedelta(seconds=detail["slept_s"]), from_us(at)))
        return found

    def _ahead(self, item: Json) -> list[str]:
        """What is still in the way of an open slot."""
        if item["outcome"] is not None or item["state"] != "planned":
            return []
        row = self._row
        found: list[str] = []
        slot = datetime.fromisoformat(item["slot"])
        if item["decisions"] and item["decisions"][0]["what"] == "ahead":
            found.append(item["decisions"][0]["detail"]["note"].removesuffix("; it would be"))
        closed = None
        if item["trigger"] == "schedule" and item["exception"] is None:
            closed = self._closed(slot)
            found += [*self._of_clock(slot), *([f"it will be skipped: {closed}"] if closed else [])]
        if item["exception"] == "skip":
            found.append("it will be skipped")
        elif row["problem"] is not None:
            found.append(f"its file is broken, so it will be blocked: {json.loads(row['problem'])['message']}")
        elif row["state"] == "paused" and item["trigger"] == "schedule":
            found.append(f"{_paused(row)}, so it will be skipped")
        elif closed is None and self._goes_on and (unknown := self._unread()):
            found.append(f"it will be blocked: {unknown}")
        elif self._idle and datetime.fromisoformat(item["due"]) > self._now and self._goes_on:
            found.append(NO_GATEWAY)
        found += self._unplaced(item)
        return found

    def _unplaced(self, item: Json) -> list[str]:
        """Labels that the job asks for and that no gateway has which is alive."""
        asked = (self._row["runs_on"] or "").split()
        if not asked or not self._home.gateway or item["exception"] == "skip":
            return []
        shared = self._home.settings.store is not None
        lack = unoffered(asked, offered(self._reader.gateways(to_us(self._now), shared=shared)))
        return [] if lack is None else [f"it waits for a gateway with the label: {lack}"]

    @property
    def _goes_on(self) -> bool:
        """Whether its slots will run, as far as the job is concerned."""
        return self._row["state"] != "completed" and self._row["removed_at"] is None

    @property
    def _idle(self) -> bool:
        """Whether nothing runs that could start anything; of a cluster nobody here knows."""
        return not self._home.gateway and self._home.settings.store is None

    def _of_clock(self, slot: datetime) -> list[str]:
        """What the clock does to a slot."""
        row, slots = self._row, self._slots()
        if slots is None or not slots.contains(slot):
            return []
        words = clock_words(ClockNotes(slots), slot, slots.zone, row["timezone"])
        return [words] if words else []

    def _closed(self, slot: datetime) -> str | None:
        """Which calendar excludes a slot, and why."""
        slots, names = self._slots(), self._job.exclude if self._job is not None else ()
        if slots is None or not slots.contains(slot):
            return None
        return excluded(self._home.settings.calendars, names, slot, self._row["timezone"])

    def _unread(self) -> str:
        """What is wrong with the calendars that the job names: nobody knows then whether they exclude a slot."""
        return "; ".join(unread(self._job, self._home.settings.calendars)) if self._job is not None else ""

    def _beyond_repeat(self, slots: RecurrenceSet, at: datetime) -> bool:
        """Whether as many runs as `repeat` allows come before a slot that has no row."""
        if self._row["repeat_max"] is None:
            return False
        rows: Sequence[Record] = self._reader.ahead(self._row["id"], to_us(self._now), AHEAD_MAX)
        decided = decided_of(rows)
        _, others = by_repeat(self._row, slots, decided, self._now, self._now)
        before = slots.count(self._now, at, (others or 0) + len(decided) + 1) - within(slots, decided, self._now, at)
        return others is not None and before > others

    def _source(self, by: str) -> str:
        """A schedule in words: what kind of text it is, and the text."""
        try:
            kind = parse_schedule(by, self._row["timezone"], anchor=self._now).kind
        except Invalid:  # only its beginning is on record
            kind = "phrase"
        return f"{KINDS[kind]} {by}" if kind in KINDS else f"“{by}”"


def _policies(job: Job) -> dict[str, Any]:
    return {"catch_up": job.catch_up, "not_later_than_s": job.not_later_than_s, "overlap": job.overlap}


def _paused(row: Record) -> str:
    if row["paused_at"] is None:
        return "its file says enabled: false"
    reason = f" ({row['paused_reason']})" if row["paused_reason"] else ""
    return f"{row['paused_by']} paused the job at {_utc(row['paused_at'])}{reason}"


def _utc(at: int) -> str:
    return f"{from_us(at).astimezone(UTC):%Y-%m-%d %H:%M:%SZ}"


def _local(at: int, timezone: str) -> str:
    return slot_json(from_us(at), timezone, None, None)["slot"]
