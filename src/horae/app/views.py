"""Look: one job, runs, and a run's result. Nothing here writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from horae.app.agentview import agent_view, prompt_of
from horae.app.agentview import resolved as with_model
from horae.app.jobs import clock_policy, damage_of, find, gone_words
from horae.app.readiness import ready
from horae.app.stretch import edge
from horae.app.upcoming import upcoming
from horae.core.cadence import DAMAGE
from horae.core.definition import described
from horae.core.instants import to_us
from horae.core.states import TRIGGERS
from horae.errors import Ambiguous, Invalid, NotFound, Problem
from horae.ports import Home, Reader, Record

Json = dict[str, Any]
T = TypeVar("T")
STRIP = 60
NO_POLICY = {"gap": None, "repeat": None}
PROMPT_CHARS_MAX = 100_000  # of a prompt that are shown
KIN_MAX = 100  # attempts, and replays, of one run


def show_job(home: Home, *, job: str, prompt: bool = False, full: bool = False) -> Json:
    """One job: its definition, what it resolves to, its state, and its next slots; with `prompt`, what would be sent.

    With `full` there are its file's `text`, its agent's `notes`, and a `strip` of its latest occurrences too.
    """
    found = find(home, job)
    row = found.row
    reader = home.read()
    try:
        now = home.clock.now()
        planned, calendars = reader.ahead(row["id"], to_us(now), 200), home.settings.calendars
        slots = _if_sound(lambda: upcoming(row, planned, now, 5, calendars), list[Json]())
        listed = reader.job(row["id"])
        runs = reader.list_runs(job_id=row["id"], state=None, limit=5, cursor=None)["runs"]
        more = _full(home, reader, row) if full else Json()
    finally:
        reader.close()
    resolved: Json = {"model": None, "tools": [], "targets": [], "alerts": [], "limits": {}, "argv": [], "problems": []}
    sent: Json | None = None
    resolved["clock_change"] = _if_sound(lambda: clock_policy(row), NO_POLICY)
    damage = damage_of(row)
    if damage is not None:
        resolved["problems"] = [damage]
    if found.job is not None:
        whole = with_model(home, found.job)
        facts = home.facts(whole)
        if whole.agent:
            resolved |= agent_view(home, whole, found.job.model is not None)
            sent = prompt_of(home, row, whole) if prompt else None
        resolved |= {
            "targets": _resolved(home, found.job.deliver, found.job.origin),
            "alerts": _resolved(home, found.job.alerts or home.settings.alerts.to, found.job.origin),
            "limits": described(found.job)["limits"],
            "argv": list(facts.argv),
            "problems": list(ready(home, found.job)),
        }
    shown = {**described(found.job), "id": row["id"], "slug": row["slug"]}
    return {
        "job": shown,
        "meaning": row["meaning"],
        "resolved": resolved,
        "state": listed,
        "slots": slots,
        "runs": runs,
        "file": f"jobs/{row['slug']}.md",
        "prompt": sent,
        **more,
    }


def _full(home: Home, reader: Reader, row: Record) -> Json:
    """What only a page of one job shows; no text where the file is gone or is none that can be read."""
    try:
        text = home.folder.read(row["slug"])
    except (NotFound, Invalid):
        text = None
    return {"text": text, "notes": reader.notes(row["id"]), "strip": reader.strips([row["id"]], STRIP)[row["id"]]}


def _resolved(home: Home, targets: Sequence[str], origin: str | None) -> list[str]:
    """The addresses that they mean, each once; what means none (any more) as it stands there."""
    found: dict[str, None] = {}
    for target in targets:
        try:
            found |= {str(address): None for address in home.targets.resolve(target, origin)}
        except Problem:
            found[target] = None
    return list(found)


def _if_sound(work: Callable[[], T], otherwise: T) -> T:
    """What is stored of a job may be damaged: whoever looks at it is told so, and sees the rest."""
    try:
        return work()
    except DAMAGE:
        return otherwise


def list_runs(
    home: Home,
    *,
    job: str | None,
    state: str | None,
    limit: int,
    cursor: str | None,
    trigger: str | None = None,
    since: str | None = None,
    until: str | None = None,
) -> Json:
    """Runs, newest first: also only those by schedule or by hand, and of a stretch of days or instants.

    A day counts in the home's zone, and the last one with all its hours. With `trigger` a page may be short of runs, or
    have none, and still have a cursor that leads on.
    """
    if trigger is not None and trigger not in TRIGGERS:
        hint = f"it is {' or '.join(TRIGGERS)}"
        raise Invalid(f"no run is triggered by {trigger[:60]!r}", hint, field="trigger", value=trigger[:200])
    job_id = find(home, job, removed=True).row["id"] if job is not None else None
    zone = home.settings.timezone
    opens = None if since is None else to_us(edge("since", since, zone))
    closes = None if until is None else to_us(edge("until", until, zone, whole=True))
    reader = home.read()
    try:
        return reader.list_runs(
            job_id=job_id, state=state, limit=limit, cursor=cursor, trigger=trigger, since=opens, until=closes
        )
    finally:
        reader.close()


def run_log(home: Home, *, run: str, prompt: bool = False, kin: bool = False) -> Json:
    """The result document of one run; of a job's latest when a job is named. With `prompt`, what its agent was sent first.

    With `kin` there are the `attempts` at its slot, the first one first, and its `replays`, the newest first: of either
    the latest, in brief.
    """
    reader = home.read()
    try:
        row = run_or_latest(reader, run)
        shown = reader.list_runs(job_id=None, state=None, limit=1, cursor=None, run_id=row["id"])["runs"][0]
        of = reader.occurrence_by_key(row["key"])
        return {
            "run": shown,
            **reader.output(row["id"]),
            "activity": reader.activity(row["id"]),
            **(_sent(reader.prompt(row["id"])) if prompt else {}),
            **(
                {"attempts": reader.attempts(row["key"], KIN_MAX), "replays": reader.replays(row, KIN_MAX)}
                if kin
                else {}
            ),
            "occurrence": None if of is None else how_it_stands(of),
        }
    finally:
        reader.close()


def _sent(prompt: str | None) -> Json:
    """A prompt as it is shown: of a huge one the beginning, and how much is not there."""
    text = prompt or ""
    return {
        "prompt": None if prompt is None else text[:PROMPT_CHARS_MAX],
        "prompt_cut_chars": max(0, len(text) - PROMPT_CHARS_MAX),
    }


def how_it_stands(occurrence: Record) -> Json:
    """An occurrence in brief: whether it is settled, how, and why."""
    return {name: occurrence[name] for name in ("key", "state", "outcome", "reason")}


def find_run_of(reader: Reader, text: str) -> str | None:
    """The id of a run that is meant; None when none is."""
    try:
        return reader.find_run(text)["id"]
    except (NotFound, Ambiguous):
        return None


def run_or_latest(reader: Reader, text: str) -> Record:
    """The run that is meant: by its id, or of a job its latest one. Raises NotFound, Ambiguous."""
    try:
        return reader.find_run(text)
    except NotFound as error:
        try:
            job = reader.find_job(text, removed=True)
        except Ambiguous:
            raise
        except NotFound:
            raise error from None
    latest = reader.list_runs(job_id=job["id"], state=None, limit=1, cursor=None)["runs"]
    if not latest:
        if job["removed_at"] is not None:
            hint = f"{gone_words(job)}; `horae why {text}` shows what is on record"
            raise NotFound(f"{job['slug']} has never run", hint)
        raise NotFound(f"{job['slug']} has not run yet", "`horae next` shows when it will")
    return reader.find_run(latest[0]["id"])
