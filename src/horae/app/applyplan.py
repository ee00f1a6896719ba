"""What a folder of job files and scripts would change in a home, decided before anything is written.

The home's copy of a file is the file as it was handed in, with the id of its job, and with the zone in which it is read;
the folder itself is never written to. What is the same already is no step, so a plan that was carried out is empty.

Each file is judged by itself: one that is not valid is refused with its line and key, and stands in nobody's way but
removals'. A job that no file stands for is removed only when that is asked for, only when every file could be read, and
not together with many others unless that is asked for too: a folder that is half there looks just like that.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from difflib import unified_diff
from typing import Any

from horae.app.decided import decided, foreseen
from horae.app.handed import Handed, Match, Matches, Step, match_all, read_all, refusal
from horae.app.readiness import ready
from horae.app.reload import plan_of
from horae.app.upcoming import preview_of, upcoming
from horae.core.cadence import DAMAGE
from horae.core.definition import cadence_digest, described, from_definition
from horae.core.identity import slot_key
from horae.core.instants import to_us
from horae.core.jobfile import edit, read
from horae.core.model import Job
from horae.core.slug import NEW_SLUG
from horae.core.text import clip
from horae.errors import Invalid, NotFound, Problem
from horae.limits import VANISHED_MIN, VANISHED_SHARE
from horae.ports import Home, Reader, Source
from horae.timing.schedule import Schedule

Json = dict[str, Any]
Row = dict[str, Any]
SLOTS = 3
AHEAD = 50  # planned slots of a job that are looked at for skips and moves
MEANING_CELLS = 120
EXCEPTIONS = {"kept": "still apply", "void": "become void"}


@dataclass(slots=True)
class Plan:
    """All steps, what is refused, and the jobs here that no file stands for."""

    steps: list[Step] = field(default_factory=list[Step])
    refused: list[Json] = field(default_factory=list[Json])
    only_here: list[str] = field(default_factory=list[str])


def plan_folder(home: Home, source: Source, label: str, *, prune: bool, force: bool) -> Plan:
    """What would become of the home. `label` is how people name the folder."""
    plan = Plan()
    scripts = [] if source.scripts is None else [*source.scripts.list()]
    plan.steps += _scripts(home, source, scripts, label, plan.refused)
    unread = {item["target"] for item in plan.refused}
    handed = [*read_all(home, source, label, plan.refused)]
    if not handed and not scripts and not plan.refused:
        raise NotFound(f"{label} holds no job files", "job files are NAME.md, in the folder itself or in its jobs/")
    matches = match_all(home, handed)
    stays = {row["slug"] for _, row in matches.found if row is not None and row["removed_at"] is None}
    plan.only_here = sorted(matches.known - stays - {_slug(item["target"]) for item in plan.refused})
    removals = [*_removals(home, plan, label, len(matches.known), force=force)] if prune else []
    freed = frozenset(step.name for step in removals if not step.held)
    judged: list[tuple[Match, Step]] = []
    reader = home.read()
    try:
        come = frozenset(name for name in scripts if f"scripts/{name}" not in unread)
        view = _View(home, reader, home.clock.now(), come, freed)
        for match in matches.found:
            try:
                judged += [(match, step) for step in view.steps(match)]
            except DAMAGE as error:
                plan.refused.append(_refused(match, error))
    finally:
        reader.close()
    plan.steps += _refuse_taken(judged, matches, freed, plan.refused)
    plan.steps += removals
    return plan


def _slug(target: str) -> str:
    return target.removeprefix("jobs/").removesuffix(".md")


def _refused(match: Match, error: Exception) -> Json:
    return refusal(match.file.origin, f"jobs/{match.file.slug}.md", error, match.file.lines)


def _refuse_taken(
    judged: Sequence[tuple[Match, Step]], matches: Matches, freed: AbstractSet[str], refused: list[Json]
) -> list[Step]:
    """A new or renamed job cannot have the name of one that stays; what is refused stays too, and keeps its name."""
    while True:
        left = {row["slug"] for (file, row), _ in judged if row is not None and row["slug"] != file.slug} | freed
        bad = [
            match
            for match, _ in judged
            if match.file.slug not in left
            and (there := matches.by_slug[match.file.slug]) is not None
            and (match.row is None or there["id"] != match.row["id"])
        ]
        for match in bad:
            there = matches.by_slug[match.file.slug] or {}
            says = f"{match.file.origin}: jobs/{match.file.slug}.md is another job here (id {there['id']})"
            hint = "give the file another name, or remove that job"
            refused.append(_refused(match, Invalid(says, hint, key="id", line=None, expected="a free name")))
        if not bad:
            return [step for _, step in judged]
        judged = [(match, step) for match, step in judged if match not in bad]


# ── scripts and removals


def _scripts(home: Home, source: Source, names: Sequence[str], label: str, refused: list[Json]) -> Iterator[Step]:
    for name in names:
        origin, target = f"{label.rstrip('/')}/scripts/{name}", f"scripts/{name}"
        try:
            assert source.scripts is not None, "somebody listed them"
            text, mode = source.scripts.read(name)
            before, was = _script(home, name)
        except Problem as error:
            refused.append(refusal(origin, target, error))
            continue
        if before is None:
            reason, effect = "it is not here", "jobs can start it"
        elif before != text:
            reason, effect = "its text differs", "runs from now on start this one; `undo` does not bring a script back"
        elif was != mode:
            reason, effect = (
                "its mode differs",
                "it may be started" if mode & 0o100 else "it may not be started any more",
            )
        else:
            continue
        diff = {"diff": difference(before, text, target, origin)}
        op = "create" if before is None else "change"
        yield Step(op, origin, target, reason, effect, name=name, mode=mode, before=before, after=text, shown=diff)


def _script(home: Home, name: str) -> tuple[str | None, int | None]:
    try:
        return home.scripts.read(name)
    except NotFound:
        return None, None


def _removals(home: Home, plan: Plan, label: str, known: int, *, force: bool) -> Iterator[Step]:
    """The jobs that no file stands for. A file that was never valid is no loss."""
    rows = home.store.transact(lambda tx: [row for slug in plan.only_here if (row := tx.jobs.by_slug(slug))])
    jobs = sum(1 for row in rows if row["definition"])
    reason, held = f"no file of {label} is this job", False
    if plan.refused:
        reason, held = f"{reason}; held until every file of {label} can be read: one of them may be it", True
    elif jobs > max(VANISHED_MIN, int(known * VANISHED_SHARE)) and not force:
        reason, held = f"{reason}; held, together with {jobs - 1} others at once: --force removes them all", True
    for row in rows:
        target, effect = f"jobs/{row['slug']}.md", "is removed; its runs stay on record"
        yield Step("remove", None, target, reason, effect, held, name=row["slug"], job_id=row["id"])


# ── one job


class _View:
    """What one look at the home needs again for each job."""

    def __init__(
        self, home: Home, reader: Reader, now: datetime, scripts: frozenset[str], freed: frozenset[str]
    ) -> None:
        self.home = home
        self.reader = reader
        self.now = now
        self.scripts = scripts
        """Scripts that come along: a job that names one of them will find it."""
        self.freed = freed
        """Names whose jobs are removed before anything takes them."""

    def steps(self, match: Match) -> Iterator[Step]:
        """The step for one job; none when it is the same already. Raises what says that it cannot be."""
        file, row = match
        live = row if row is not None and row["removed_at"] is None else None
        here = None if file.slug in self.freed else _text(self.home, file.slug)
        renamed = live is not None and live["slug"] != file.slug
        old = _text(self.home, live["slug"]) if renamed and live is not None else None
        as_it_is = file.text == here and live is not None and not renamed
        after = file.text if as_it_is else copy_of(file, row)
        job = read(after, file=file.origin, slug=file.slug, default_timezone=self.home.settings.timezone)
        schedule = plan_of(job, row, self.now)  # also of what is the same: here it may be broken
        if after == here and live is not None and not renamed:
            return
        if here is None and not NEW_SLUG.fullmatch(file.slug):
            says = f"{file.origin}: {file.slug!r} cannot be the name of a new job file"
            raise Invalid(says, "use a to z, 0 to 9, hyphens, dots and underscores", key="slug", expected="a slug")
        op, reason = _kind(file, row, here)
        if renamed and live is not None:
            op, reason = "rename", f"its job is jobs/{live['slug']}.md here"
        shown, effect = self._effect(job, schedule, live)
        was = f"jobs/{live['slug']}.md" if live is not None else f"jobs/{file.slug}.md"
        shown["diff"] = difference(old if renamed else here, after, was, file.origin)
        leaves = (live["slug"], old) if renamed and live is not None and old is not None else None
        yield Step(
            op, file.origin, f"jobs/{file.slug}.md", reason, effect, name=file.slug,
            job_id=row["id"] if row is not None and row["definition"] else job.id or None,
            before=here, after=after, leaves=leaves, shown=shown, completed=_revived(job, live),
        )  # fmt: skip

    def _effect(self, job: Job, schedule: Schedule, live: Row | None) -> tuple[Json, str]:
        """What changes in the schedule and in the rest, for programs and in words."""
        old = _definition(live)
        was = None if live is None or old is None else self._seen(live)
        same = live is not None and live["cadence"] == cadence_digest(job)
        exceptions: Json | None = None
        if live is not None and not same:
            exceptions = foreseen(live["id"], live["timezone"], decided(self.home, live["id"]), schedule.set)
        will = was if same and was is not None else self._coming(job, schedule, live, exceptions)
        words = [_series(job, schedule, live, was, will)]
        if old is not None:
            words.append(_rest(old, job, same=same))
        for key, says in EXCEPTIONS.items():
            if exceptions is not None and exceptions[key]:
                words.append(f"{len(exceptions[key])} skipped or moved slot(s) {says}")
        unready = () if job.script in self.scripts else ready(self.home, job)
        warnings = [*schedule.warnings, *unready]
        shown = {"before": was, "after": will, "exceptions": exceptions, "warnings": warnings}
        return shown, "; ".join(word for word in words if word)

    def _seen(self, row: Row) -> Json:
        slots = upcoming(row, self.reader.ahead(row["id"], to_us(self.now), AHEAD), self.now, SLOTS)
        return {key: row[key] for key in ("schedule", "meaning", "timezone")} | {"slots": slots}

    def _coming(self, job: Job, schedule: Schedule, live: Row | None, exceptions: Json | None) -> Json:
        """The next slots by the new schedule, with the exceptions that will still apply."""
        count = SLOTS if job.repeat is None else min(SLOTS, job.repeat)
        slots = preview_of(schedule.set, job.timezone, self.now, count).slots
        kept = {item["slot_utc"]: item for item in (exceptions or {"kept": []})["kept"]}
        for slot in slots if live is not None else ():
            slot["key"] = slot_key(live["id"], datetime.fromisoformat(slot["slot"])) if live is not None else None
            item = kept.get(slot["slot_utc"])
            if item is not None:
                slot["note"] = "skipped" if item["kind"] == "skip" else "moved"
                slot["due"] = item["to"] or slot["due"]
        return {"schedule": job.schedule, "meaning": schedule.meaning, "timezone": job.timezone, "slots": slots}


def _text(home: Home, slug: str) -> str | None:
    try:
        return home.folder.read(slug)
    except NotFound:
        return None


def copy_of(file: Handed, row: Row | None) -> str:
    """The file as the home will have it. A new job without an id is given one only when it is really made."""
    keys: Json = {}
    known = row if row is not None and row["definition"] else None
    if known is not None and file.job.id != known["id"]:
        keys["id"] = known["id"]
    if "timezone" not in file.lines:
        keys["timezone"] = known["timezone"] if known is not None else file.job.timezone
    return edit(file.text, keys, file=file.origin) if keys else file.text


def _kind(file: Handed, row: Row | None, here: str | None) -> tuple[str, str]:
    if row is None:
        return "create", "no job here has its id or its name"
    if row["removed_at"] is not None:
        return "restore", "its job was removed here"
    if here is None:
        return "restore", "its file is gone here"
    if not row["definition"]:
        return "change", "the file of that name has never been valid here"
    if file.job.id in ("", row["id"]):
        return "change", f"the job of that {'id' if file.job.id else 'name'} differs"
    return "change", f"the job of that name differs; it keeps its id {row['id']}"


def _definition(row: Row | None) -> Job | None:
    """What the home has of a job; None where that is nothing, or damaged."""
    if row is None or not row["definition"]:
        return None
    with suppress(*DAMAGE):
        return from_definition(json.loads(row["definition"]))
    return None


def _revived(job: Job, live: Row | None) -> str | None:
    """Why the job was completed, if this revives it."""
    if live is None or live["completed_at"] is None or live["cadence"] == cadence_digest(job):
        return None
    return live["completed_reason"]


def _series(job: Job, schedule: Schedule, live: Row | None, was: Json | None, will: Json) -> str:
    """The schedule in words."""
    meaning = f"{clip(schedule.meaning, MEANING_CELLS)} ({job.timezone})"
    first = f"; next {will['slots'][0]['due']}" if will["slots"] else ""
    off = "; it is off: `enabled: false`" if not job.enabled else ""
    if was is None or live is None:
        return f"runs {meaning}{first}{off}"
    same = live["cadence"] == cadence_digest(job)
    if live["completed_at"] is not None:
        return "it stays completed" if same else f"is revived: runs {meaning}{first}{off}"
    if same:
        return "no slot changes"
    before = f"{clip(live['meaning'], MEANING_CELLS)} ({live['timezone']})"
    instead = f" instead of {before}" if before != meaning else ""
    counts = f"; counts {job.repeat} runs from now" if job.repeat is not None else ""
    return f"runs {meaning}{instead}{first}{counts}{off}"


def _rest(old: Job, new: Job, *, same: bool) -> str:
    """Which other keys differ."""
    before, after = described(old), described(new)
    cadence = ("id", "slug", "schedule", "timezone", "repeat", "enabled", "clock_change", "starts", "ends", "spread_s")
    keys = [key for key in after if before[key] != after[key] and key not in cadence]
    if keys:
        return f"{', '.join(keys)} {'differs' if len(keys) == 1 else 'differ'}"
    return "only its comments or its layout differ" if same else ""


def difference(before: str | None, after: str, old: str, new: str) -> str:
    """A unified diff of two texts; of what is not there, all of the new one."""
    lines = unified_diff(
        (before or "").splitlines(), after.splitlines(), old if before else "/dev/null", new, lineterm=""
    )
    return "\n".join(lines)
