"""The six steps of one run, as far as they are known: planned, claimed, looked at, run, settled, delivered. Pure.

It says what the record says and nothing more: what has not come is `ahead`, what will not come is `left out`, and of what
nobody saw it says that nobody knows. A run comes in as `runs` shows it, with the decisions about its occurrence: those that
name a run are about that attempt alone, and what has led to it or come of it is told where the decisions say so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal

from horae.timing.durations import short_duration

Json = Mapping[str, Any]
Standing = Literal["done", "now", "ahead", "failed", "unknown", "left out"]
OPEN = ("claimed", "running")
BAD = ("failed", "cancelled", "unknown")
SETTLING = ("completed", "failed", "cancelled", "unknown", "blocked", "skipped", "missed", "void", "ran")
PLANNING = ("planned", "ordered")
PUT_OFF = {"parked": "it waits for a person", "held": "it goes on later"}
ARRIVED, ON_THE_WAY, LOST = ("delivered", "suppressed"), ("pending", "sending"), ("failed", "expired")


@dataclass(frozen=True, slots=True)
class Step:
    """One of the six. `at` is when it was done or began, `took_s` how long it took; None where that is not known."""

    name: str
    standing: Standing
    at: str | None
    took_s: float | None
    says: str


def timeline(run: Json, decisions: Sequence[Json]) -> list[dict[str, Any]]:
    """The steps, in order."""
    own = [each for each in decisions if each.get("run_id") == run["id"]]
    steps = (
        _plan(run, decisions),
        _claim(run, decisions, own),
        _preflight(run),
        _run(run, own),
        _settle(run, decisions, own),
        _deliver(run),
    )
    return [asdict(step) for step in steps]


def _plan(run: Json, decisions: Sequence[Json]) -> Step:
    made = next((each for each in decisions if each["what"] in PLANNING), None)
    how = "by its schedule" if run["trigger"] == "schedule" else "by hand"
    if run.get("cause"):
        how = str(run["cause"])
    elif made is not None and made["what"] == "ordered":
        how = f"by {made['actor']}"
    return Step("planned", "done", None if made is None else made["at"], None, how)


def _claim(run: Json, decisions: Sequence[Json], own: Sequence[Json]) -> Step:
    late = _between(run.get("due"), run["claimed_at"])
    says = "by a gateway" if not run.get("host") else f"by {run['host']}"
    if run["attempt"] > 1:
        says += f", attempt {run['attempt']}{_before(run, decisions)}"
    if run.get("missed"):
        says += f", in place of {run['missed']} missed before it"
    if any(each["what"] == "adopted" for each in own):
        says += "; another gateway took it over from the one that had claimed it"
    return Step("claimed", "done", run["claimed_at"], None if late is None else max(0.0, late), says)


def _before(run: Json, decisions: Sequence[Json]) -> str:
    """What the attempt before it came to, where that is on record: it was given back, put off, or it failed."""
    claimed = datetime.fromisoformat(run["claimed_at"])
    earlier = [each for each in decisions if each["at"] and datetime.fromisoformat(each["at"]) <= claimed]
    for each in reversed(earlier):
        if each["what"] == "retry_planned":
            return f", {short_duration(each['detail']['in_s'])} after the one before it failed"
        if each["what"] in PUT_OFF:
            return ", which goes on where the one before it stopped"
        if each["what"] == "released":
            return ", after the one before it was given back"
    return ""


def _preflight(run: Json) -> Step:
    if run["state"] == "blocked":
        return Step("looked at", "failed", run["finished_at"], None, _reason(run))
    if run["started_at"] is not None:
        took = _between(run["claimed_at"], run["started_at"])
        return Step("looked at", "done", run["started_at"], took, "nothing stood in the way")
    if run["state"] == "claimed":
        return Step("looked at", "now", None, None, "or it waits for its turn")
    if run["state"] == "unknown":
        return Step("looked at", "unknown", None, None, "nobody knows whether it came so far")
    return Step("looked at", "left out", None, None, _reason(run))


def _run(run: Json, own: Sequence[Json]) -> Step:
    state, started, ended = run["state"], run["started_at"], run["finished_at"]
    if started is None and state == "unknown":
        return Step("run", "unknown", None, None, f"nobody knows whether it began: {_reason(run)}")
    if started is None:
        ahead = state == "claimed"
        return Step("run", "ahead" if ahead else "left out", None, None, "" if ahead else "it was not started")
    if state in OPEN:
        return Step("run", "now", started, None, "it goes on")
    if state == "unknown":
        return Step("run", "unknown", started, None, f"nobody saw its end: {_reason(run)}")
    if state in ("released", "blocked"):
        off = next((PUT_OFF[each["what"]] for each in reversed(own) if each["what"] in PUT_OFF), "it was given back")
        return Step("run", "ahead", started, _between(started, ended), f"{off}: {_reason(run)}")
    standing: Standing = "failed" if state in BAD else "done"
    return Step("run", standing, started, _between(started, ended), _reason(run))


def _settle(run: Json, decisions: Sequence[Json], own: Sequence[Json]) -> Step:
    if run["state"] == "released" and any(each["what"] in PUT_OFF for each in own):
        return Step(
            "settled", "ahead" if run["outcome"] is None else "left out", None, None, "another run goes on with it"
        )
    if run["state"] == "released":
        return Step("settled", "left out", None, None, "it was given back, and another run takes its place")
    again = next((each for each in reversed(own) if each["what"] == "retry_planned"), None)
    later = "" if again is None else f"tried again, {short_duration(again['detail']['in_s'])} later"
    if run["outcome"] is None:
        return Step("settled", "ahead", None, None, f"it is {later}" if later and run["state"] not in OPEN else "")
    if later:
        return Step("settled", "left out", None, None, f"it was {later}; its slot counts as {run['outcome']}")
    ended = [each["at"] for each in decisions if each["what"] in SETTLING and "target" not in each["detail"]]
    return Step("settled", "done", ended[-1] if ended else None, None, f"its slot counts as {run['outcome']}")


def _deliver(run: Json) -> Step:
    states = [each["state"] for each in run["deliveries"]]
    if not states:
        ahead = run["state"] in OPEN
        return Step(
            "delivered", "ahead" if ahead else "left out", None, None, "" if ahead else "nobody was to hear of it"
        )
    says = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
    if any(state == "unknown" for state in states):
        return Step("delivered", "unknown", None, None, says)
    if any(state in LOST for state in states):
        return Step("delivered", "failed", None, None, says)
    if any(state in ON_THE_WAY for state in states):
        return Step("delivered", "now", None, None, says)
    return Step("delivered", "done", None, None, says)


def _reason(run: Json) -> str:
    return str(run["reason"] or "no reason is on record")


def _between(start: str | None, end: str | None) -> float | None:
    if start is None or end is None:
        return None
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
