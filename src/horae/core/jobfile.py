"""Job files: Markdown whose front matter says when and how, and whose body is the prompt.

`read` makes a `Job` of a file or raises `Invalid` that names the file, the line, the key and what was expected; nothing
else comes out of it, whatever the file contains. `compose` writes the file of a new job, `edit` (in `jobedit`) changes
single keys of an existing one and leaves every other character alone. `definition` (in `definition`) is the same job as
plain JSON values for the store, with its digests.

A value is what stands there: quotes make a text, and only the bare words true and false are truth values, since a
job that is `enabled: "false"` must not run because a text is not empty. An empty value is an error, not a default:
`wall:` with nothing behind it would quietly lift a limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from horae import limits
from horae.core import fieldforms, frontmatter
from horae.core.cadence import bound_of
from horae.core.definition import DEFAULTS, cadence_digest, definition, digest, from_definition
from horae.core.fieldforms import FIELDS, ORDER, written
from horae.core.frontmatter import Node, fault
from horae.core.jobedit import edit
from horae.core.model import Job, Retries
from horae.core.scalars import render, written_duration
from horae.core.slug import slug_of, unique_slug
from horae.core.text import clean_name
from horae.errors import Invalid
from horae.limits import BACKOFF_DEFAULT_S
from horae.timing.schedule import ON_DEMAND, parse_schedule
from horae.timing.zones import zone

__all__ = [
    "cadence_digest", "compose", "definition", "digest", "edit", "from_definition", "read", "slug_of", "unique_slug",
]  # fmt: skip

ANCHOR = datetime(2024, 1, 1, tzinfo=UTC)  # a schedule is valid with any anchor, and there is no clock here


def read(text: str, *, file: str, slug: str, default_timezone: str = "UTC", anchor: datetime = ANCHOR) -> Job:
    """The job that a file defines. Raises Invalid, with `details` file, line, key and expected.

    `file` is how errors name it. Without `id` the job's id is empty; without `timezone` it gets `default_timezone`;
    without `name`, the slug.
    """
    parts = frontmatter.split(text, file)
    root = frontmatter.parse(parts.front, file)
    entries = root.entries
    values: dict[str, Any] = {}
    for key, node in entries.items():
        form = fieldforms.FORMS.get(key)
        if form is None:
            raise fieldforms.unknown(file, node, key)
        values[FIELDS[key]] = form(file, key, node)
    values.setdefault("id", "")
    values.setdefault("name", clean_name(slug)[: limits.NAME_CHARS_MAX] or slug_of(slug))
    values.setdefault("timezone", default_timezone)
    _check_cadence(file, entries, values, anchor)
    prompt = frontmatter.plain_prompt(parts.body, file, parts.opening + parts.front + parts.closing)
    job = Job(slug=slug, prompt=prompt, **values)
    _check_work(file, entries, job)
    _check_policies(file, entries, job)
    return job


def _check_cadence(file: str, entries: Mapping[str, Node], values: dict[str, Any], anchor: datetime) -> None:
    """The zone and the schedule together make sense. Their own messages are kept; file, line and key are added."""
    if "after" in values:
        values.setdefault("schedule", ON_DEMAND)
    if "schedule" not in values:
        says, hint = "`schedule` is missing", "Add a line such as `schedule: weekdays at 18:30`."
        raise fault(file, None, "schedule", says, "a schedule", hint)
    key, timezone = "timezone", str(values["timezone"])
    try:
        zone(timezone)
        key = "schedule"
        parse_schedule(str(values["schedule"]), timezone, anchor=anchor)
    except Invalid as error:
        line = entries[key].line if key in entries else None
        expected = str(error.details.get("expected") or f"a {key} that Horae knows")
        raise fault(file, line, key, f"`{key}`: {error.message}", expected, error.hint) from error


def _check_work(file: str, entries: Mapping[str, Node], job: Job) -> None:
    """There is something to do, and only one program that prepares it."""
    if job.script is not None and job.command:
        line = max(entries["script"].key_line, entries["command"].key_line)
        says = "`script` and `command` are both given"
        raise fault(file, line, "command", says, "one of script and command", "Remove one of the two.")
    if job.script is not None or job.command:
        return
    if not job.agent:
        says = "`agent: false` needs a `script` or a `command`: there is nothing to run"
        raise fault(file, entries["agent"].line, "agent", says, "script or command")
    if not job.prompt:
        says = "the prompt is empty: there is nothing for the agent to do"
        hint = "Write the prompt below the second ---, or name a script."
        raise fault(file, None, "prompt", says, "a prompt", hint)


def _check_policies(file: str, entries: Mapping[str, Node], job: Job) -> None:
    """What is said about slots has a place in the zone's calendar, and makes sense together."""
    known: dict[str, datetime] = {}
    for key, text in (("starts", job.starts), ("ends", job.ends)):
        if text is not None:
            try:
                known[key] = bound_of(text, job.timezone, last=key == "ends")
            except Invalid as error:
                expected = "a day such as 2026-12-24, or an instant"
                raise fault(file, entries[key].line, key, f"`{key}`: {error.message}", expected, error.hint) from error
    if len(known) == 2 and known["ends"] < known["starts"]:
        says, hint = f"`ends: {job.ends}` is before `starts: {job.starts}`: there would be no slot", "Swap the two."
        raise fault(file, entries["ends"].line, "ends", says, "an end behind the start", hint)
    tries = job.retries
    if tries != Retries() and tries.max is None:
        says = "`retries` does not say how often: `max` is missing"
        raise fault(file, entries["retries"].line, "retries.max", says, "a number of retries", "Add max: 3.")
    first = BACKOFF_DEFAULT_S if tries.backoff_s is None else tries.backoff_s
    if tries.ceiling_s is not None and tries.ceiling_s < first:
        says = f"`retries.ceiling` is less than the first pause of {written_duration(int(first))}"
        raise fault(file, entries["retries"].line, "retries.ceiling", says, "a ceiling above `backoff`")


def compose(job: Job) -> str:
    """The file of a new job, in the canonical order, defaults left out. Raises Invalid when no file could say this."""
    file = f"{job.slug}.md"
    lines: list[str] = []
    for key in ORDER:
        value = getattr(job, FIELDS[key])
        if key in {"name", "schedule", "timezone"} or value != DEFAULTS[FIELDS[key]]:
            lines.append(f"{key}: {render(written(key, value))}\n")
    prompt = frontmatter.plain_prompt(job.prompt, file)
    text = "---\n" + "".join(lines) + "---\n" + (f"{prompt}\n" if prompt else "")
    again, asked = read(text, file=file, slug=job.slug), replace(job, prompt=prompt)
    if again != asked:
        field = next(name for name in DEFAULTS if getattr(again, name) != getattr(asked, name))
        key = next((key for key in ORDER if FIELDS[key] == field), field)
        raise fault(file, None, key, f"`{key}` cannot be written as {getattr(job, field)!r}", "a plain value")
    return text
