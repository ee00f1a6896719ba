"""Make, change and remove jobs. The file is written first and is the truth; the store follows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC
from typing import Any, cast

from horae.app.agentview import odd, resolved
from horae.app.completed import way_round
from horae.app.decided import aftermath, decided
from horae.app.expected import refuse_other
from horae.app.readiness import ready
from horae.app.reload import absorb, checked, plan_of
from horae.app.upcoming import upcoming
from horae.core import policies
from horae.core.cadence import DAMAGE, Row, slots_of, without_effect
from horae.core.definition import cadence_digest, described, from_definition
from horae.core.identity import new_job_id
from horae.core.instants import from_us, to_us
from horae.core.jobfile import edit, read, slug_of, unique_slug
from horae.core.model import Job
from horae.core.text import clip
from horae.errors import Conflict, Invalid, NotFound, Problem, Refused
from horae.limits import NAME_CHARS_MAX
from horae.ports import Folder, Home, Record
from horae.timing.schedule import Schedule, parse_schedule

Json = dict[str, Any]
NO_GATEWAY = "no gateway is running for this home: nothing fires until `horae up`"
FIRST_SLOTS = 3
NAME_TRIES = 20
WHY_CELLS = 120  # of what is damaged
EMPTY_FILE = "---\n---\n"
LOOKED_AT = (  # fields that preflight judges
    *("script", "command", "deliver", "alerts", "origin", "agent", "exclude", "prompt", "skills", "model", "fallbacks"),
    *("tools", "approve", "after", "context_from", "watch", "schema", "limits", "secrets"),
)


@dataclass(frozen=True, slots=True)
class Found:
    """A job that a person named: its row, and its last good definition."""

    row: Record
    job: Job | None


@dataclass(frozen=True, slots=True)
class Composed:
    """A new job before anything of it is written: the text of its file, and what that comes to."""

    text: str
    job: Job
    planned: Schedule


class TakenNames:
    """The file names that are in use, asked one by one: the folder may hold 100,000."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def __contains__(self, slug: object) -> bool:
        try:
            self._folder.signature(str(slug))
        except NotFound:
            return False
        return True


def find(home: Home, name: str, *, removed: bool = False) -> Found:
    """The job that a person means; one that was removed only where that is said. Raises NotFound or Ambiguous."""
    reader = home.read()
    try:
        row = reader.find_job(name, removed=removed)
    finally:
        reader.close()
    return Found(row, _definition(row))


def damage_of(row: Record) -> str | None:
    """That what is stored of a job is damaged, and what mends it; None when it is not, or nothing ever was."""
    if not row["definition"]:
        return None
    try:
        from_definition(json.loads(row["definition"]))
    except DAMAGE as error:
        return f"what is stored of it is damaged, and reading its file again mends it ({clip(str(error), WHY_CELLS)})"
    return None


def gone_words(row: Record) -> str:
    """When a job was removed."""
    return f"it was removed at {from_us(row['removed_at']).astimezone(UTC):%Y-%m-%d %H:%M:%SZ}"


def add_job(
    home: Home, *, schedule: str, fields: Mapping[str, Any], paused: bool = False, text: str = EMPTY_FILE
) -> Json:
    """Make a job. `fields` are keys of a job file, in the forms that the file takes; `text` is what they are set in.

    A script or a program without a prompt is the whole job, unless `agent` says otherwise.
    """
    made = composed(home, schedule=schedule, fields=fields, text=text)
    name, slug = made.job.name, _write_new(home, made.job.name, made.text)
    did = f"added {name} as {slug} (jobs/{slug}.md)"
    return _written(home, slug, made.planned, before=None, paused=paused, did=did)


def composed(home: Home, *, schedule: str, fields: Mapping[str, Any], text: str = EMPTY_FILE) -> Composed:
    """A new job that could be made and would run. Nothing is written. Raises Invalid, Refused."""
    if text == EMPTY_FILE and not any(fields.get(key) for key in ("prompt", "script", "command")):
        raise Invalid(
            "it is not said what to do",
            "write a prompt, name a script in scripts/ with --script, or a program with --command",
        )
    now = home.clock.now()
    timezone = str(fields.get("timezone") or home.settings.timezone)
    parsed = parse_schedule(schedule, timezone, anchor=now)
    named = fields.get("name")
    if named is not None and not isinstance(named, str):
        raise Invalid("`name` is no text", "give the job a name in words, or none", field="name")
    made_up = str(fields.get("script") or _first(fields.get("command")) or "job")[:NAME_CHARS_MAX]
    name = made_up if named is None else named
    slug = unique_slug(slug_of(name), TakenNames(home.folder))
    head = {"id": new_job_id(home.entropy(6)), "name": name, "schedule": parsed.written, "timezone": timezone}
    given = {key: value for key, value in fields.items() if value is not None}
    if text == EMPTY_FILE and not given.get("prompt"):
        given.setdefault("agent", False)
    try:
        text = edit(text, given | head)
        job = read(text, file=f"jobs/{slug}.md", slug=slug, default_timezone=timezone)
        planned = plan_of(job, None, now)
    except Invalid as error:
        raise _unwritten(error) from error
    _refuse_unready(home, job)
    planned = replace(planned, warnings=parsed.warnings)  # of the text that was given, not of what was written
    return Composed(text, job, planned)


def _write_new(home: Home, name: str, text: str) -> str:
    """Write the file of a new job; somebody who took the same name meanwhile has it, and ours gets the next one."""
    for _ in range(NAME_TRIES):
        slug = unique_slug(slug_of(name), TakenNames(home.folder))
        try:
            home.folder.write(slug, text, expect=None)
        except Conflict:
            continue
        return slug
    raise Conflict(f"others were faster with every name like {slug_of(name)}", "try again")


def edit_job(home: Home, *, job: str, changes: Mapping[str, Any], expect: str | None = None) -> Json:
    """Change keys of a job's file, leaving the rest of it alone. None removes a key. `expect`: see `expected.py`."""
    found = find(home, job)
    slug = found.row["slug"]
    before = home.folder.read(slug)
    refuse_other(before, expect, f"jobs/{slug}.md")
    wanted = dict(changes)
    if not wanted:
        raise Invalid("nothing to change", "name an option, for example --schedule, or use --editor")
    if "id" in wanted:
        raise Invalid("the id of a job stays as it is: its history goes by it", "leave `id` out", field="id")
    if wanted.get("schedule"):
        zone = str(wanted.get("timezone") or found.row["timezone"] or home.settings.timezone)
        wanted["schedule"] = parse_schedule(str(wanted["schedule"]), zone, anchor=home.clock.now()).written
    return replace_text(home, slug=slug, before=before, after=edit(before, wanted))


def replace_text(home: Home, *, slug: str, after: str, before: str | None = None, expect: str | None = None) -> Json:
    """Put a new text in place of a job file that is still the one that was read: by its text, or its digest (`expected.py`)."""
    if before is None:
        before = home.folder.read(slug)
        refuse_other(before, expect, f"jobs/{slug}.md")
    job = read(after, file=f"jobs/{slug}.md", slug=slug, default_timezone=home.settings.timezone)
    schedule = _checked(home, slug, after)
    row = home.store.transact(lambda tx: tx.jobs.get(job.id))
    before_it = decided(home, job.id)
    old = _definition(row) if row else None
    if old is None or any(getattr(old, key) != getattr(job, key) for key in LOOKED_AT):
        _refuse_unready(home, job)
    over = row if row is not None and row["completed_at"] is not None and row["removed_at"] is None else None
    revived = over is not None and over["cadence"] != cadence_digest(job)
    did, was = (f"revived {job.name}", over["completed_reason"]) if over and revived else (f"changed {job.name}", None)
    home.folder.write(slug, after, expect=before)
    answer = _written(home, slug, schedule, before=before, did=did, skipped_or_moved=before_it, completed=was)
    exceptions = aftermath(home, job.id, job.timezone, before_it)
    if exceptions["void"]:
        count = len(exceptions["void"])
        says = f"{count} skipped or moved slot(s) went with the old schedule; `undo` brings them back"
        answer["warnings"].append(says)
    if revived:
        answer["warnings"].append("revived: its schedule starts afresh, and it counts from nothing")
    elif over is not None:
        answer["warnings"].append(f"it stays completed: {way_round(over, home.clock.now())}")
    return {**answer, "exceptions": exceptions, "revived": revived}


def _checked(home: Home, slug: str, text: str) -> Schedule:
    """The same before a person's own edit: what cannot revive a completed job is refused, and no fault of the file."""
    try:
        return checked(home, slug, text)
    except Invalid as error:
        if "completed_reason" not in error.details:
            raise
        says = error.message.removeprefix(f"jobs/{slug}.md: ")
        hint = f"`horae edit {slug} --schedule …` gives it one; it stays completed and nothing was written"
        raise Refused(says, hint, completed_reason=error.details["completed_reason"]) from error


def remove_job(home: Home, *, job: str, expect: str | None = None) -> Json:
    """Delete a job's file. Its history stays; `undo` brings the file back as it was. `expect`: see `expected.py`."""
    row = find(home, job).row
    slug = row["slug"]
    text: str | None = None
    with suppress(NotFound):
        try:
            text = home.folder.read(slug)
        except Invalid:
            text = None  # no text that could be kept: it goes without a way back
        refuse_other(text, expect, f"jobs/{slug}.md")
        home.folder.remove(slug, expect=text)
    undo: Json | None = None
    if text is not None:
        undo = {"verb": "text", "slug": slug, "before": text, "after": None, "slots": decided(home, row["id"])}
    entry = home.store.transact(
        lambda tx: tx.jobs.remove(row["id"], actor=home.actor, reason="removed by a person", undo=undo)
    )
    home.wake()
    return {
        "job": {"id": row["id"], "slug": slug, "name": row["name"]},
        "did": f"removed {row['name']} (jobs/{slug}.md); its runs stay on record",
        "undo": f"horae undo {entry}" if undo else None,
        "entry": entry,
    }


def clock_policy(row: Row) -> Json:
    """What becomes of the job's wall times when clocks change, the defaults of its schedule included.

    None for a job without wall times, and for one that never had a schedule.
    """
    slots = slots_of(row) if row["definition"] else None
    told = slots is not None and slots.rules
    return {"gap": slots.gap, "repeat": slots.repeat} if slots and told else {"gap": None, "repeat": None}


def summary(home: Home, job_id: str) -> Json:
    """The definition and the next slots of one job, for the answer to whatever changed it."""
    reader = home.read()
    try:
        row = reader.find_job(job_id)
        now = home.clock.now()
        slots = upcoming(row, reader.ahead(job_id, to_us(now), 50), now, FIRST_SLOTS, home.settings.calendars)
    finally:
        reader.close()
    job = _definition(row)
    shown = {"state": row["state"], **described(job), "id": row["id"], "slug": row["slug"]}
    return {"job": shown, "meaning": row["meaning"], "slots": slots}


def _written(
    home: Home,
    slug: str,
    schedule: Schedule,
    *,
    before: str | None,
    did: str,
    paused: bool = False,
    skipped_or_moved: Sequence[Json] = (),
    completed: str | None = None,
) -> Json:
    """Take in a file that was just written; put the old one back if that cannot be done."""
    after = home.folder.read(slug)
    try:
        job, _ = absorb(home, slug, home.actor, paused=paused)
    except Problem:
        if before is None:
            home.folder.remove(slug, expect=after)
        else:
            home.folder.write(slug, before, expect=after)
        raise
    undo: Json = {"verb": "text", "slug": slug, "before": before, "after": after, "slots": list(skipped_or_moved)}
    undo |= {"completed": completed} if completed is not None else {}
    what = "added" if before is None else "edited"
    entry = home.store.transact(lambda tx: tx.journal.append(what, actor=home.actor, job_id=job.id, undo=undo))
    warnings = [*schedule.warnings, *ready(home, job)]
    idle = without_effect(job.clock_change, schedule.set, home.clock.now())
    if idle is not None:
        warnings.append(idle)
    warnings += oddities(home, job, schedule)
    if not home.gateway:
        warnings.append(NO_GATEWAY)
    answer = summary(home, job.id)
    if answer["job"]["state"] == "paused":
        back = f"`horae resume {slug}`" if job.enabled else f"`horae edit {slug} --enable`"
        warnings.append(f"it is paused: these slots will be skipped until {back}")
    file = {"file": f"jobs/{slug}.md", "did": did, "undo": f"horae undo {entry}", "entry": entry}
    return {**answer, "warnings": warnings, **file}


def oddities(home: Home, job: Job, schedule: Schedule) -> Iterator[str]:
    """What holds, and may not be meant."""
    yield from odd(home, resolved(home, job))
    s = home.settings
    own: Json = {"calendars": s.calendars, "groups": s.groups, "labels": s.labels, "shared": s.store is not None}
    yield from policies.warnings(job, schedule.set, home.clock.now(), **own)


def _refuse_unready(home: Home, job: Job) -> None:
    reasons = ready(home, job)
    if reasons:
        raise Refused("; ".join(reasons), "put that right and try again; nothing was written", reasons=list(reasons))


def _unwritten(error: Invalid) -> Invalid:
    """What is wrong with a file that will never be there, told of the key alone: nobody could look it up."""
    details = dict(error.details)
    file, line = details.pop("file", None), details.pop("line", None)
    return Invalid(
        error.message.removeprefix(f"{file}: ").removeprefix(f"{file}, line {line}: "), error.hint, **details
    )


def _definition(row: Record) -> Job | None:
    """The last good definition; None when there is none, or when what is stored of it is damaged."""
    try:
        return from_definition(json.loads(row["definition"])) if row["definition"] else None
    except DAMAGE:
        return None


def _first(value: object) -> str | None:
    return str(cast("list[object]", value)[0]) if isinstance(value, list) and value else None
