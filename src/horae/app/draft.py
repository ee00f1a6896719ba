"""What a job would be: the text of its file from what somebody has filled in, and what that text means. Nothing is written.

Form and file are two views of one text. The text that is being written is the truth; fields change keys of it and leave
every other character alone, so comments and order stay. What is wrong is told as a problem with its line and key, and never
raised: whoever writes is not done yet. What can be told in spite of it (the next slots of a sound schedule) is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from itertools import islice
from typing import Any

from horae.app.agentview import odd, resolved
from horae.app.jobs import EMPTY_FILE, find
from horae.app.preview import next_slots
from horae.app.readiness import ready
from horae.core import frontmatter, policies
from horae.core.agent import TOOLSETS
from horae.core.delivery import LOCAL
from horae.core.fieldforms import FORMS
from horae.core.frontmatter import Node
from horae.core.jobfile import edit, read, slug_of
from horae.core.model import Job
from horae.core.target import ALL, ORIGIN
from horae.errors import Invalid, NotFound, Problem
from horae.ports import Home
from horae.timing.schedule import parse_schedule
from horae.timing.zones import names

Json = dict[str, Any]
SLOTS = 5
NEW = "the new job"
CHOICES_MAX = 500


def draft(
    home: Home,
    *,
    job: str | None = None,
    text: str | None = None,
    fields: Mapping[str, Any] | None = None,
    slots: int = SLOTS,
) -> Json:
    """The text with the fields set in it, and what it means.

    `text` is what has been written so far; without it a job's file as it stands, or an empty one. `fields` are keys of a job
    file (and `prompt`) in the forms that it takes; None takes a key away.
    """
    row = None if job is None else find(home, job).row
    file = NEW if row is None else f"jobs/{row['slug']}.md"
    saved = _saved(home, row["slug"]) if row is not None else None
    base = text if text is not None else saved if saved is not None else EMPTY_FILE
    problems: list[Json] = []
    made = base
    try:
        made = edit(base, dict(fields or {}), file=file)
    except Invalid as error:
        problems.append(_problem(error, file))
        made, more = _one_by_one(base, fields or {}, file)
        problems = more or problems
    told = _told(home, made, file, row, slots)
    return {
        "job": None if row is None else {key: row[key] for key in ("id", "slug", "name", "state")},
        "file": None if row is None else file,
        "text": made,
        "saved": saved,
        "sha256": None if saved is None else sha256(saved.encode()).hexdigest(),
        **told,
        "problems": problems + told["problems"],
    }


def _saved(home: Home, slug: str) -> str | None:
    """A job's file as it stands; None where there is none that can be read as text."""
    try:
        return home.folder.read(slug)
    except (NotFound, Invalid):
        return None


def _one_by_one(base: str, fields: Mapping[str, Any], file: str) -> tuple[str, list[Json]]:
    """Those of the fields that can be set, and what is wrong with the others."""
    problems: list[Json] = []
    for key, value in fields.items():
        try:
            base = edit(base, {key: value}, file=file)
        except Invalid as error:
            problems.append(_problem(error, file, key))
    return base, problems


def _told(home: Home, text: str, file: str, row: Any, count: int) -> Json:
    """What a text means: its values, its schedule in words, its next slots, what is wrong with it and what is odd."""
    said = values_of(text)
    found: Json = {"fields": said, "meaning": None, "timezone": None, "slots": [], "notes": [], "warnings": []}
    found["timezone"] = str(said.get("timezone") or home.settings.timezone)
    problems: list[Json] = []
    made: Job | None = None
    try:
        slug = row["slug"] if row is not None else slug_of(str(said.get("name") or "job"))
        made = read(text, file=file, slug=slug, default_timezone=home.settings.timezone)
        if row is not None:
            made = _of(made, row)
    except Invalid as error:
        problems.append(_problem(error, file))
    wrong = problems[0]["key"] if problems else None
    schedule = made.schedule if made is not None else said.get("schedule")
    if isinstance(schedule, str) and schedule.strip() and wrong not in ("schedule", "timezone", "clock_change"):
        with suppress(Invalid):
            found |= _schedule(home, schedule, found["timezone"], made, count)
    if made is not None:
        found["warnings"] += _odd(home, made)
        problems += [{"message": reason, "hint": None, "line": None, "key": None} for reason in ready(home, made)]
    return {**found, "problems": problems}


def _of(job: Job, row: Any) -> Job:
    """The job under the id that it has: its file may not say it yet."""
    return job if job.id else replace(job, id=row["id"])


def _schedule(home: Home, schedule: str, zone: str, made: Job | None, count: int) -> Json:
    change = {} if made is None else {key: getattr(made.clock_change, key) for key in ("gap", "repeat")}
    said = {key: value for key, value in change.items() if value is not None}
    shown = next_slots(home, schedule=schedule, timezone=zone, clock_change=said, count=count)
    return {key: shown[key] for key in ("meaning", "slots", "notes", "warnings")}


def _odd(home: Home, job: Job) -> Iterator[str]:
    """What holds, and may not be meant."""
    s = home.settings
    try:
        yield from odd(home, resolved(home, job))
        parsed = parse_schedule(job.schedule, job.timezone, anchor=home.clock.now())
        own: Json = {"calendars": s.calendars, "groups": s.groups, "labels": s.labels, "shared": s.store is not None}
        yield from policies.warnings(job, parsed.set, home.clock.now(), **own)
    except Problem as error:
        yield error.message


def values_of(text: str) -> Json:
    """What stands in a text, key by key, as a person wrote it; whatever can be read of one that is broken."""
    try:
        parts = frontmatter.split(text, NEW)
        root = frontmatter.parse(parts.front, NEW)
    except Invalid:
        return {}
    said = {key: _plain(node) for key, node in root.entries.items() if key in FORMS}
    return {**said, "prompt": parts.body.strip("\r\n")}


def _plain(node: Node) -> Any:
    if node.kind == "map":
        return {key: _plain(each) for key, each in node.entries.items()}
    if node.kind == "list":
        return [_plain(each) for each in node.items]
    return node.text


def _problem(error: Invalid, file: str, key: str | None = None) -> Json:
    details = error.details
    line = details.get("line")
    says = error.message.removeprefix(f"{file}: ").removeprefix(f"{file}, line {line}: ")
    says = says.removeprefix("the job file: ")
    return {"message": says, "hint": error.hint, "line": line, "key": key or details.get("key")}


def choices(home: Home) -> Json:
    """What a job may name: scripts, models, skills, toolsets, targets, calendars, zones; for lists to choose from."""
    agents = home.settings.agents
    return {
        "scripts": sorted(islice(home.scripts.list(), CHOICES_MAX)),
        "models": sorted(agents.models),
        "skills": sorted(home.shelf().names()),
        "tools": sorted(TOOLSETS),
        "targets": [LOCAL, ORIGIN, ALL, *sorted({*home.settings.platforms, *home.settings.targets})],
        "calendars": sorted(home.settings.calendars),
        "timezones": sorted(names()),
        "timezone": home.settings.timezone,
    }
