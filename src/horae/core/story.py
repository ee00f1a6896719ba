"""Why a slot ended as it did, in sentences: from the decisions on record, and from what was going on around them.

    planned by the cron line 0 9 * * * (Europe/Paris); due 09:00; the gateway was down 08:50–14:00; catch-up is once;
    started 14:00:01, 5 h 0 min late; completed 14:00:03 after 2.0 s: exit status 0

The order is that of things: where the slot comes from, what people decided about it in advance, when it was due, what stood
in the way then, which policy applied, what was done, how it ended, and, while it is open, what is still in its way. A time
of day stands by itself when it is on the slot's own day there.

Pure. An occurrence comes in as `why` prints it: instants as text, all with the offset of the slot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from horae.core.admission import STILL_GOING
from horae.core.model import CatchUp, Overlap
from horae.core.uptime import Downtime
from horae.limits import CATCH_UP_GRACE_S
from horae.timing.durations import duration_words, short_duration

Json = Mapping[str, Any]
NAMED_MAX = 3  # downtimes that are named one by one
ON_TIME_S = 1.0  # nobody calls less than that late
UNRUN = ("skipped", "missed", "blocked", "void")
ENDED = ("completed", "failed", "cancelled", "unknown", "blocked")
RETRY = "retry_planned"
LATER = (
    "parked",
    "held",
)  # what was begun goes on later, or a slot waits: either way its first instant is not its last
IN_ADVANCE = ("skip_planned", "moved", "exception_cleared", "zone_data")
PRUNED = "what was decided about it is not on record any more: it was pruned from the journal"


@dataclass(frozen=True, slots=True)
class Around:
    """What was, and is, going on around one slot."""

    now: datetime
    source: str | None = None
    """The schedule in words, such as "the cron line 0 9 * * *"."""
    zone: str = "UTC"
    catch_up: CatchUp = "once"
    not_later_than_s: int | None = None
    overlap: Overlap = "skip"
    downs: Sequence[Downtime] = ()
    """Times without a gateway between when it was due and when something was done about it."""
    slept: Sequence[tuple[datetime, datetime]] = ()
    """Times at which the machine slept, in the same stretch."""
    ahead: Sequence[str] = ()
    """What stands in the way of a slot that is still to come."""


def story(item: Json, around: Around) -> list[str]:
    """The sentences about one occurrence, without their full stops."""
    told = _Story(item, around)
    return [*told.beginning(), *told.due(), *told.standing(), *told.decided(), *told.ending()]


class _Story:
    """One occurrence, and how its times are written."""

    def __init__(self, item: Json, around: Around) -> None:
        self._item = item
        self._around = around
        self._decisions: list[Json] = item["decisions"]
        self._slot = datetime.fromisoformat(item["slot"])
        self._due = self._first_due()
        self._open = item["outcome"] is None

    def _first_due(self) -> datetime:
        """When it was due before anything failed or was put off: each retry has an instant of its own."""
        retried = any(each["what"] in (RETRY, *LATER) for each in self._decisions)
        claimed = next((each for each in self._decisions if each["what"] == "claimed"), None)
        if not retried or claimed is None:
            return datetime.fromisoformat(self._item["due"])
        late = timedelta(seconds=claimed["detail"].get("late_s") or 0)
        due = datetime.fromisoformat(claimed["at"]) - late + timedelta(seconds=0.5)
        return due.replace(microsecond=0)  # slots and their spread are whole seconds; the entry's instant is rounded

    # ── where it comes from

    def beginning(self) -> Iterator[str]:
        """Who or what wanted it, and what people decided in advance."""
        first = next((each for each in self._decisions if each["what"] in ("planned", "ordered", "ahead")), None)
        if first is not None and first["what"] == "ordered":
            yield f"ordered by {first['actor']} at {self._clock(first['at'])}"
        elif first is not None:
            by = self._around.source or f"“{first['detail'].get('by')}”"
            yield f"{'planned by' if first['what'] == 'planned' else 'a slot of'} {by} ({first['detail'].get('zone')})"
        elif self._decisions and self._around.source is not None and self._item["trigger"] == "schedule":
            yield f"a slot of {self._around.source} ({self._around.zone})"
        for each in self._decisions:
            if each["what"] in IN_ADVANCE:
                yield self._in_advance(each)

    def _in_advance(self, decision: Json) -> str:
        detail, who, at = decision["detail"], decision["actor"], self._clock(decision["at"])
        match decision["what"]:
            case "moved":
                return f"moved to {self._clock(detail['to'])} by {who} at {at}"
            case "skip_planned":
                return f"to be skipped, said {who} at {at}"
            case "exception_cleared":
                return f"{who} took that back at {at}"
            case _:
                if "was" in detail:
                    return f"until zone data changed it was the slot of {self._clock(detail['was'])}"
                return f"closed: {detail.get('reason')}"

    # ── when, and what stood in its way

    def due(self) -> Iterator[str]:
        """When it was due; of a span, from when to when."""
        span = self._item["span"]
        if span is not None:
            yield f"{span['count']:,} slots were due, {self._clock(span['from'])} to {self._clock(span['to'])}"
            return
        spread_s = (self._due - self._slot).total_seconds()
        spread = ""
        if spread_s > 0 and self._item["exception"] != "move" and self._item["trigger"] == "schedule":
            spread = f", {short_duration(spread_s)} after its slot by its spread"
        yield f"due {self._at(self._due)}{spread}"

    def standing(self) -> Iterator[str]:
        """Why nothing could be done in time, and the policy that then applied."""
        for down in self._around.downs[:NAMED_MAX]:
            yield self._down(down)
        if len(self._around.downs) > NAMED_MAX:
            yield f"and {len(self._around.downs) - NAMED_MAX} more times"
        for since, until in self._around.slept:
            yield f"the machine slept {self._at(since)}–{self._at(until)}"
        late = max((each["detail"].get("late_s") or 0 for each in self._decisions), default=0)
        if self._item["trigger"] == "schedule" and (
            late > CATCH_UP_GRACE_S or self._item["missed"] or self._item["outcome"] == "missed"
        ):
            yield f"catch-up is {self._around.catch_up}"
            if self._around.not_later_than_s is not None:
                yield f"not later than {duration_words(self._around.not_later_than_s)}"
        if STILL_GOING in (self._item["reason"] or ""):
            yield f"overlap is {self._around.overlap}"

    def _down(self, down: Downtime) -> str:
        if down.until is None:
            if down.since is None:
                return "no gateway has ever run"
            was = "" if down.stopped else f"the gateway was last heard of at {self._at(down.since)}; "
            return f"{was}no gateway has run since{f' {self._at(down.since)}' if down.stopped else ''}"
        if down.since is None:
            return f"no gateway had run before {self._at(down.until)}"
        if down.stopped:
            return f"the gateway was down {self._at(down.since)}–{self._at(down.until)}"
        return f"the gateway was last heard of at {self._at(down.since)}, and none began before {self._at(down.until)}"

    # ── what was done

    def decided(self) -> Iterator[str]:
        """What was decided about it from when it was due."""
        tried, unplanned, goes_on = 0, False, False
        for each in self._decisions:
            what, detail = each["what"], each["detail"]
            if what == "planned" and unplanned:
                yield f"planned again at {self._clock(each['at'])}"
            unplanned = what == "unplanned" or (unplanned and what != "planned")
            if what in (*IN_ADVANCE, "planned", "ordered", "ahead", "undone"):
                continue
            if what == "claimed":
                tried += 1
                if goes_on:
                    self._due = datetime.fromisoformat(each["at"]) - timedelta(seconds=detail.get("late_s") or 0)
                if each is self._decisions[-1]:
                    yield f"claimed {self._clock(each['at'])}{self._late(each)}"
            elif what == "started":
                again = f" (attempt {tried})" if tried > 1 else ""
                yield f"started {self._clock(each['at'])}{again}{self._late(each)}{self._stands_for()}"
            elif what == RETRY:
                self._due = datetime.fromisoformat(each["at"]) + timedelta(seconds=detail["in_s"])
                yield f"to be tried again at {self._at(self._due)}, {short_duration(detail['in_s'])} later"
            elif "target" in detail:
                yield self._delivery(each)
            elif what in ENDED and "took_s" in detail:
                took = f" after {short_duration(detail['took_s'])}" if detail["took_s"] is not None else ""
                yield f"{what} {self._clock(each['at'])}{took}: {detail.get('reason')}"
            elif what == "resolved" and "as" in detail:
                yield self._resolved(each)
            elif what in UNRUN:
                yield f"{what} at {self._clock(each['at'])}: {detail.get('reason')}"
            else:
                goes_on = goes_on or what == "parked" or (what in LATER and tried > 0)
                yield self._plainly(each)

    def _resolved(self, decision: Json) -> str:
        detail = decision["detail"]
        who, at = decision["actor"], self._clock(decision["at"])
        said = f"{who} said at {at} that it had {detail['as']}"
        if detail.get("again"):
            said = f"{who} had it done again at {at}, as run {detail['again']}"
        return said + (f": {detail['reason']}" if detail.get("reason") else "")

    def _late(self, decision: Json) -> str:
        late = (datetime.fromisoformat(decision["at"]) - self._due).total_seconds()
        if self._item["trigger"] != "schedule" and late < ON_TIME_S:
            return ""
        return f", {short_duration(late)} late" if late >= ON_TIME_S else ", on time"

    def _stands_for(self) -> str:
        missed = self._item["missed"]
        return f", for {missed:,} missed slot{'s' if missed > 1 else ''} before it too" if missed else ""

    def _delivery(self, decision: Json) -> str:
        detail = decision["detail"]
        to, what, at = detail["target"], decision["what"], self._clock(decision["at"])
        if what == "delivered":
            return f"delivered to {to}"
        if what == "resent":
            return f"sent anew to {to} by {decision['actor']} at {at}, since it was {detail.get('was')}"
        if what == "delivery_retried":
            return f"not taken by {to} at {at}, to be tried again: {detail.get('reason')}"
        return f"delivery to {to} {what}: {detail.get('reason')}"

    def _plainly(self, decision: Json) -> str:
        """A decision that has no words of its own here."""
        who = "" if decision["actor"] == "gateway" else f" by {decision['actor']}"
        reason = decision["detail"].get("reason")
        said = f"{decision['what'].replace('_', ' ')}{who} at {self._clock(decision['at'])}"
        return f"{said}: {reason}" if reason else said

    # ── how it stands

    def ending(self) -> Iterator[str]:
        """What is not in the decisions: they were pruned, or the slot is still open."""
        if not self._open:
            if not self._decisions:
                yield f"{self._item['outcome']}: {self._item['reason']}"
                yield PRUNED
            return
        if self._item["state"] == "planned":
            said = next(
                (each["detail"]["reason"] for each in reversed(self._decisions) if each["detail"].get("reason")), None
            )
            if self._item["reason"] and self._item["reason"] != said:
                yield str(self._item["reason"])
            yield from self._around.ahead

    # ── times

    def _clock(self, text: str | None) -> str:
        return "an unknown time" if text is None else self._at(datetime.fromisoformat(text))

    def _at(self, instant: datetime) -> str:
        """A time of day where the slot is, with its day when that is another than the slot's."""
        local = instant.astimezone(self._slot.tzinfo)
        clock = f"{local:%H:%M:%S}" if local.second else f"{local:%H:%M}"
        day: date = local.date()
        return clock if day == self._slot.date() else f"{clock} on {day:%Y-%m-%d}"
