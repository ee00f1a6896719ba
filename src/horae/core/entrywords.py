"""An entry of the journal as a sentence, as a page tells it beside its job, its time and who wrote it. Pure.

A sentence has no subject where that is the gateway; people and programs are named. What has no words here is told as
`decision_words` tells it, so that a new kind of entry is never silent. Whatever programs said in it is foreign text: it is
put on one line, and whoever shows it escapes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

from horae.core.decisionwords import decision_words
from horae.core.text import one_line
from horae.timing.durations import short_duration

Json = Mapping[str, Any]
SHOWN_CHARS = 400
ON_TIME_S = 1.0


def entry_words(entry: Json) -> str:
    """What was decided; `what`, `actor` and `detail` of an entry."""
    try:
        words = _words(entry)
    except (KeyError, TypeError, ValueError):  # an entry of another version, which lacks what this one writes
        words = None
    return one_line(words or _capital(decision_words(entry)), SHOWN_CHARS)


def _words(entry: Json) -> str | None:
    what, detail = entry["what"], entry["detail"]
    if "target" in detail and what in MESSAGES:
        return MESSAGES[what](entry, detail)
    for table in (OF_JOBS, OF_SLOTS, OF_RUNS, OF_THE_HOUSE):
        if what in table:
            return table[what](entry, detail)
    return None


Words = Callable[[Json, Json], str]


def _who(entry: Json) -> str:
    return "The gateway" if entry["actor"] == "gateway" else str(entry["actor"])


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _because(detail: Json, said: str = ": ", key: str = "reason") -> str:
    return f"{said}{detail[key]}" if detail.get(key) else ""


def _clock(text: str) -> str:
    """An instant as its own offset has it."""
    return f"{datetime.fromisoformat(text):%a %-d %b %Y, %H:%M}"


def _does(words: str, *, reason: bool = True) -> Words:
    """Somebody does it, perhaps for a reason."""
    return lambda entry, detail: f"{_who(entry)} {words}{_because(detail) if reason else ''}"


def _is(words: str) -> Words:
    """It comes to be so, perhaps for a reason."""
    return lambda _entry, detail: f"{words}{_because(detail)}"


def _read(words: str) -> Words:
    """A job's file was taken in; how its schedule was understood is told with it."""

    def told(_entry: Json, detail: Json) -> str:
        if not detail.get("meaning"):
            return words
        ahead = detail.get("next") or ()
        return f"{words}: {detail['meaning']}; " + (f"next {_clock(ahead[0])}" if ahead else "it has no slot ahead")

    return told


def _several(detail: Json) -> str:
    return f"{detail['slots']:,} slots" if (detail.get("slots") or 1) > 1 else "A slot"


def _slots(words: str) -> Words:
    return lambda _entry, detail: f"{_several(detail)} {words}{_because(detail)}"


def _claimed(_entry: Json, detail: Json) -> str:
    late = detail.get("late_s") or 0
    again = f", attempt {detail['attempt']}" if (detail.get("attempt") or 1) > 1 else ""
    missed = f"; it stands for {detail['missed']:,} missed before it" if detail.get("missed") else ""
    when = f"{short_duration(late)} after it was due" if late >= ON_TIME_S else "on time"
    return f"Claimed {when}{again}{missed}"


def _ended(words: str) -> Words:
    def told(entry: Json, detail: Json) -> str:
        took = detail.get("took_s")
        by = "" if entry["actor"] == "gateway" else f" by {entry['actor']}"
        return f"{words}{by}{'' if took is None else f' after {short_duration(took)}'}{_because(detail)}"

    return told


def _resolved(entry: Json, detail: Json) -> str:
    if detail["as"] == "rerun":
        return f"{_who(entry)} had it run once more{_because(detail)}"
    ended = {"completed": "had done its work", "failed": "had failed"}.get(detail["as"], detail["as"])
    return f"{_who(entry)} said that it {ended}{_because(detail)}"


def _undone(entry: Json, detail: Json) -> str:
    if detail.get("redo"):
        return decision_words(entry)
    return f"{_who(entry)} took entry {detail['entry']} back"


def _decided(word: str) -> Words:
    def told(entry: Json, detail: Json) -> str:
        what = {"call": "a call of its agent", "job": "a proposed job", "message": "a proposed message"}
        return f"{_who(entry)} {word} {what.get(detail['kind'], detail['kind'])}{_because(detail)}"

    return told


def _clock_changed(_entry: Json, detail: Json) -> str:
    stepped, slept = detail.get("stepped_s") or 0, detail.get("slept_s") or 0
    parts = [f"the clock was set {'forward' if stepped > 0 else 'back'} by {short_duration(abs(stepped))}"] * bool(
        stepped
    )
    parts += [f"the machine slept for {short_duration(slept)}"] * bool(slept)
    return _capital(" and ".join(parts))


def _called(_entry: Json, detail: Json) -> str:
    runs, dropped = len(detail["runs"]), len(detail["dropped"])
    left = f"; {dropped} of its jobs could not be run" if dropped else ""
    return f"The hook {detail['hook']} was called and ordered {runs} run{'' if runs == 1 else 's'}{left}"


def _pruned(entry: Json, detail: Json) -> str:
    told = f"{detail['output']:,} texts, {detail['runs']:,} runs and {detail['journal']:,} entries"
    return f"{_who(entry)} took away what was too old: {told}"


def _zone_data(_entry: Json, detail: Json) -> str:
    if "jobs" in detail:
        return f"Zone data {detail['now']} is in use, before it {detail['was']}; slots of {detail['jobs']} jobs changed"
    if "was" in detail:
        return f"New zone data moved a slot: it was at {detail['was']}, and is at {detail['now']}"
    return f"New zone data closed a slot{_because(detail)}"


def _sent(words: str) -> Words:
    return lambda _entry, detail: f"The message to {detail['target']} {words}{_because(detail)}"


MESSAGES: Mapping[str, Words] = MappingProxyType(
    {
        "delivered": lambda _entry, detail: (
            f"The message to {detail['target']} arrived{_because(detail, ', which answered: ', 'evidence')}"
        ),
        "delivery_retried": _sent("was not taken, and is tried again"),
        "failed": _sent("was refused"),
        "unknown": _sent("may have arrived"),
        "expired": _sent("was given up"),
        "resent": lambda entry, detail: f"{_who(entry)} had the message to {detail['target']} sent anew",
        "target_closed": lambda _entry, detail: f"{detail['target']} takes nothing any more{_because(detail)}",
        "target_opened": lambda entry, detail: f"{_who(entry)} lets messages through to {detail['target']} again",
    }
)
OF_JOBS: Mapping[str, Words] = MappingProxyType(
    {
        "created": _read("A new job"),
        "changed": _read("Its file says something else"),
        "revived": _read("It goes on with a new schedule"),
        "restored": _read("It is back"),
        "added": _does("made the job"),
        "edited": _does("changed the job"),
        "quarantined": lambda _entry, detail: (
            f"Its file cannot be read, so it does not run{_because(detail, key='problem')}"
        ),
        "removed": _does("removed the job"),
        "paused": _does("paused the job"),
        "resumed": _does("resumed the job"),
        "paused_all": _does("paused all jobs"),
        "resumed_all": _does("resumed all jobs"),
        "completed_job": _is("It is completed, and will have no further slot"),
        "frozen": lambda entry, detail: (
            f"{_who(entry)} settled on the model {detail['model']}"
            + (f", before it {detail['was']}" if detail.get("was") else "")
        ),
        "script_written": lambda entry, detail: f"{_who(entry)} wrote the script {detail['script']}",
        "model_default": lambda entry, detail: f"{_who(entry)} chose {detail['model']} as the model of new jobs",
        "undone": _undone,
        "incident_opened": lambda _entry, detail: (
            f"Something is wrong that was well before{_because(detail, key='cause')}"
        ),
        "incident_ended": lambda _entry, detail: f"That incident is over{_because(detail, key='by')}",
        "acknowledged": _does("has seen the incident, so nobody is reminded of it"),
        "snoozed": lambda entry, detail: f"{_who(entry)} put the incident off until {_clock(detail['until'])}",
    }
)
OF_SLOTS: Mapping[str, Words] = MappingProxyType(
    {
        "planned": lambda _entry, detail: f"Its next slot is planned, by “{detail['by']}” in {detail['zone']}",
        "unplanned": _is("A planned slot was dropped"),
        "skip_planned": _does("wants one slot skipped"),
        "moved": lambda entry, detail: f"{_who(entry)} moved a slot to {_clock(detail['to'])}",
        "exception_cleared": _does("took back what was decided about a slot"),
        "ordered": _does("ordered a run"),
        "called": _called,
        "call_refused": lambda _entry, detail: f"The hook {detail['hook']} was called too often{_because(detail)}",
        "after_refused": _is("It was not started after another job"),
        "waiting": _is("What is due waits where it is"),
        "held": _is("What is due goes on later"),
        "skipped": _slots("was left out"),
        "missed": _slots("passed unrun"),
        "void": _slots("counts no more"),
        "ran": _is("Its slot ended"),
        "retry_planned": lambda _entry, detail: f"It is tried again in {short_duration(detail['in_s'])}",
    }
)
OF_RUNS: Mapping[str, Words] = MappingProxyType(
    {
        "claimed": _claimed,
        "started": _is("Started"),
        "adopted": _is("Another gateway took the run over"),
        "completed": _ended("Completed"),
        "failed": _ended("Failed"),
        "cancelled": _ended("Cancelled"),
        "unknown": _ended("Nobody knows how it ended"),
        "blocked": _ended("Not started"),
        "released": _is("Given back before it began"),
        "parked": _is("It waits for a person"),
        "resolved": _resolved,
        "cancel_asked": _does("wants the run ended"),
        "approved": _decided("approved"),
        "denied": _decided("denied"),
        "proposed": _does("proposed a job"),
    }
)
OF_THE_HOUSE: Mapping[str, Words] = MappingProxyType(
    {
        "gateway_started": lambda _entry, detail: f"A gateway started: pid {detail['pid']}, Horae {detail['version']}",
        "gateway_stopped": lambda _entry, detail: f"The gateway with pid {detail['pid']} stopped",
        "gateway_draining": lambda _entry, detail: (
            f"The gateway with pid {detail['pid']} takes nothing new and waits for what is live"
        ),
        "gateway_lost": _is("A gateway is gone, and another one has its runs"),
        "clock_changed": _clock_changed,
        "zone_data": _zone_data,
        "anchor": lambda _entry, detail: f"Noted where {len(detail['chains'])} other chains of the journal stood",
        "pruned": _pruned,
        "let_in": lambda entry, detail: (
            f"{_who(entry)} let {detail['name']} in, with a {detail['kind']} of the role {detail['role']}"
        ),
        "shut_out": lambda entry, detail: f"{_who(entry)} ended the {detail['kind']} of {detail['name']}",
    }
)
