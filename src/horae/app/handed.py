"""Job files that somebody hands in: which are valid, and which job of the home each of them stands for.

A file stands for the job whose id it carries, else for the one whose file has its name, else for a new one. A job keeps
its id for ever, so a file of its name that says another id is that job all the same, unless another file carries its id.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from horae.core import frontmatter
from horae.core.cadence import DAMAGE
from horae.core.jobfile import read
from horae.core.model import Job
from horae.errors import Invalid, Problem
from horae.ports import Home, Source, Tx

Json = dict[str, Any]
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a plan: what people see of it, and what carrying it out takes."""

    op: str
    """create, change, rename, restore or remove."""
    origin: str | None
    target: str
    reason: str
    effect: str
    held: bool = False
    name: str = ""
    """The job's slug, or the script's name."""
    mode: int | None = None
    """Of a script; None for a job."""
    job_id: str | None = None
    before: str | None = None
    """What the target says now; None when it is not there."""
    after: str | None = None
    leaves: tuple[str, str] | None = None
    """Slug and text of the file that is renamed."""
    completed: str | None = None
    """Why the job was completed that this revives."""
    shown: Json = field(default_factory=dict[str, Any])

    def as_json(self) -> Json:
        """The shape of docs/reference/cli.md."""
        head = {key: getattr(self, key) for key in ("op", "origin", "target", "reason", "effect", "held")}
        return {**head, "diff": None, "before": None, "after": None, "exceptions": None, "warnings": [], **self.shown}


@dataclass(frozen=True, slots=True)
class Handed:
    """One valid file."""

    slug: str
    origin: str
    text: str
    job: Job
    lines: dict[str, int]
    """Which keys it has, and in which lines."""


class Match(NamedTuple):
    """A file and the row of its job, None for a new one."""

    file: Handed
    row: Row | None


class Matches(NamedTuple):
    """All files, and what the home knows: slugs, and of the slugs of files the rows."""

    found: list[Match]
    known: set[str]
    by_slug: dict[str, Row | None]


def read_all(home: Home, source: Source, label: str, refused: list[Json]) -> Iterator[Handed]:
    """The files that are valid, by name; the others are refused. `label` is how people name the folder."""
    ids: dict[str, str] = {}
    for name in source.misnamed:  # it may be a job of the home, whose file was renamed
        origin = f"{label.rstrip('/')}/{source.below}{name}"
        refused.append(
            refusal(origin, f"jobs/{name}", Invalid(f"{origin} cannot be a job: its name is not one", "rename it"))
        )
    for slug in sorted(slug for slug, _ in source.jobs.scan()):
        origin = f"{label.rstrip('/')}/{source.below}{slug}.md"
        try:
            text = source.jobs.read(slug)
            job = read(text, file=origin, slug=slug, default_timezone=home.settings.timezone)
            entries = frontmatter.parse(frontmatter.split(text, origin).front, origin).entries
            file = Handed(slug, origin, text, job, {key: node.key_line for key, node in entries.items()})
            if job.id and ids.setdefault(job.id, origin) != origin:
                says, hint = f"{origin}: id {job.id} is that of {ids[job.id]} too", "delete the `id` line of the copy"
                raise Invalid(says, hint, file=origin, line=None, key="id", expected="an id that no other file has")
        except DAMAGE as error:
            refused.append(refusal(origin, f"jobs/{slug}.md", error))
        else:
            yield file


def refusal(
    origin: str | None, target: str, error: Exception, lines: dict[str, int] | None = None, op: str = "change"
) -> Json:
    """Why one step is not done, in the shape of a step, with the error told of the file that was handed in."""
    problem = error if isinstance(error, Problem) else Invalid(f"{origin or target}: cannot be understood: {error}")
    told, details = problem.as_json(), dict(problem.details)
    if origin is not None:
        line = details.get("line") or (lines or {}).get(str(details.get("key")))
        details |= {"file": origin, "line": line, "key": details.get("key")}
        begins = (target, origin, f"{target}, line {line}", f"{origin}, line {line}")
        begin = next((name for name in begins if problem.message.startswith(f"{name}: ")), None)
        if begin is not None:
            where = origin if line is None else f"{origin}, line {line}"
            told["message"] = where + problem.message[len(begin) :]
    step = Step(op, origin, target, str(told["message"]), "nothing is done")
    return {**step.as_json(), "error": {**told, "details": details}}


def match_all(home: Home, handed: Sequence[Handed]) -> Matches:
    """Which job each file stands for."""

    def look(tx: Tx) -> tuple[dict[str, Row | None], dict[str, Row | None], set[str]]:
        by_id = {file.job.id: tx.jobs.get(file.job.id) for file in handed if file.job.id}
        return by_id, {file.slug: tx.jobs.by_slug(file.slug) for file in handed}, set(tx.jobs.signatures())

    by_id, by_slug, known = home.store.transact(look)
    carried = {row["id"] for row in by_id.values() if row is not None}
    found: list[Match] = []
    for file in handed:
        named = by_slug[file.slug]
        free = named if named is not None and named["id"] not in carried else None
        found.append(Match(file, by_id.get(file.job.id) or free))
    return Matches(found, known, by_slug)
