"""Take in job files: from an editor, from a tool, from a fresh clone. The files are the truth; this makes the store agree.

One bad file harms only itself: its job is quarantined with the reason and the others go on. A file without an `id` is
given one, in place. A file that vanished removes its job only when the folder could be read and few vanished at once;
otherwise all of them are held until a person decides, because an unmounted disk looks just like that.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from horae.app.completed import wants_schedule
from horae.core.agent import default_model
from horae.core.cadence import DAMAGE, anchor_of, grace_of, schedule_of
from horae.core.identity import new_job_id
from horae.core.jobfile import cadence_digest, edit, read
from horae.core.model import Job
from horae.core.states import HELD
from horae.core.text import clip
from horae.errors import Conflict, Invalid, NotFound, Problem
from horae.limits import VANISHED_MIN, VANISHED_SHARE
from horae.ports import Folder, Home, Tx
from horae.timing.schedule import Schedule

Progress = Callable[[int, int], object]
TOLD_MAX = 200  # cells of a schedule or its meaning in a sentence
BATCH = 500  # files taken in per transaction
FILE_ACTOR = "jobs folder"


@dataclass(slots=True)
class Report:
    """What became of the files that were looked at: slugs by what happened to them."""

    created: list[str] = field(default_factory=list[str])
    changed: list[str] = field(default_factory=list[str])
    broken: dict[str, str] = field(default_factory=dict[str, str])
    removed: list[str] = field(default_factory=list[str])
    held: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class Survey:
    """How many jobs are known, which files changed (slug, signature), and which vanished."""

    known: int
    changed: list[tuple[str, str]]
    gone: list[str]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One file as it was read: a job, or what is wrong with it."""

    slug: str
    signature: str
    job: Job | None
    problem: dict[str, Any] | None


def reload(
    home: Home,
    slugs: Iterable[str] | None = None,
    progress: Progress = lambda _done, _total: None,
    *,
    actor: str = FILE_ACTOR,
) -> Report:
    """Look at all files, or at some, and take in what changed since they were last read.

    `progress(done, total)` is told after each batch of files. `actor` is who wrote them, where that is known.
    """
    report = Report()
    survey = _survey(home) if slugs is None else _look(home, slugs)
    if slugs is not None and survey.gone:
        survey = _survey(home)  # one that vanished may be the first of many: only the whole folder tells
    for start in range(0, len(survey.changed), BATCH):
        batch = [_candidate(home, slug, signature) for slug, signature in survey.changed[start : start + BATCH]]
        home.store.transact(
            lambda tx, batch=batch: [_take_in(home, tx, candidate, report, actor) for candidate in batch if candidate]
        )
        progress(min(start + BATCH, len(survey.changed)), len(survey.changed))
    if survey.changed:
        home.store.transact(_remove_parked)
    _forget(home, survey.gone, survey.known, report)  # after the new names are known: a file may have been renamed
    if report.removed:
        _look_again(home, report)
    if survey.changed or survey.gone:
        home.wake()
    return report


def absorb(home: Home, slug: str, actor: str, *, paused: bool = False) -> tuple[Job, Schedule]:
    """Take in one file that a tool has just written. It was checked before, so it must be valid now.

    With `paused` the job is never active, not even for an instant.
    """
    candidate = _candidate(home, slug, home.folder.signature(slug))
    if candidate is None or candidate.job is None:
        message = candidate.problem["message"] if candidate and candidate.problem else f"jobs/{slug}.md vanished"
        raise Invalid(message, file=f"jobs/{slug}.md")
    job = candidate.job

    def work(tx: Tx) -> Schedule:
        _, schedule = _upsert(home, tx, job, candidate.signature, actor)
        if paused:  # a part of making the job, so nothing that could be undone by itself
            entry = tx.jobs.pause(job.id, actor=actor, reason="made paused")
            tx.journal.append("undone", actor=actor, job_id=job.id, entry=entry)
        _remove_parked(tx)
        return schedule

    schedule = home.store.transact(work)
    home.wake()
    return job, schedule


def _survey(home: Home) -> Survey:
    """Compare the whole folder with what is known. Holds one entry for each job, and no more: there may be 100,000."""
    left = home.store.transact(lambda tx: tx.jobs.signatures())
    known = len(left)
    changed = [(slug, signature) for slug, signature in home.folder.scan() if left.pop(slug, None) != signature]
    return Survey(known, changed, [slug for slug, signature in left.items() if signature != HELD])


def _look(home: Home, slugs: Iterable[str]) -> Survey:
    """Compare some files only."""
    survey = Survey(0, [], [])
    for slug in slugs:
        row = home.store.transact(lambda tx, slug=slug: tx.jobs.by_slug(slug))
        known = None if row is None else row["signature"]
        try:
            signature = home.folder.signature(slug)
        except Invalid:
            continue  # no job file could have that name
        except NotFound:
            if known not in (None, HELD):
                survey.gone.append(slug)
            continue
        if signature != known:
            survey.changed.append((slug, signature))
    return survey


def _look_again(home: Home, report: Report) -> None:
    """What stood in the way of a broken file may have gone with another: the same id, for example."""
    reader = home.read()
    try:
        broken = [item["job"] for item in reader.waiting(BATCH) if item["kind"] == "quarantined"]
    finally:
        reader.close()
    found = dict(home.folder.scan()) if broken else {}
    again = [_candidate(home, slug, found[slug]) for slug in broken if slug in found]
    home.store.transact(lambda tx: [_take_in(home, tx, candidate, report) for candidate in again if candidate])


def _candidate(home: Home, slug: str, signature: str) -> Candidate | None:
    """Read one file. None when it is gone again."""
    file = f"jobs/{slug}.md"
    try:
        text = home.folder.read(slug)
        job = read(text, file=file, slug=slug, default_timezone=home.settings.timezone)
        if not job.id:
            job = replace(job, id=new_job_id(home.entropy(6)))
            named = edit(text, {"id": job.id, "timezone": job.timezone})
            home.folder.write(slug, named, expect=text)
            signature = home.folder.signature(slug)
            if home.folder.read(slug) != named:
                return None  # somebody saved it in this very moment: that will be noticed
        return Candidate(slug, signature, job, None)
    except (NotFound, Conflict):
        return None  # another hand is at it: its change will be noticed too
    except Problem as error:
        return Candidate(slug, signature, None, error.as_json())
    except DAMAGE as error:
        return Candidate(slug, signature, None, _unread(slug, error).as_json())


def _unread(slug: str, error: Exception) -> Invalid:
    """A fault of ours that one file brings about. It is told as that file's, and harms no other."""
    return Invalid(
        f"jobs/{slug}.md cannot be understood: {type(error).__name__}: {error}",
        "simplify its schedule, and please report what it says",
        file=f"jobs/{slug}.md",
        line=None,
    )


def _take_in(home: Home, tx: Tx, candidate: Candidate, report: Report, actor: str = FILE_ACTOR) -> None:
    problem = candidate.problem
    if candidate.job is not None:
        try:
            what, _ = _upsert(home, tx, candidate.job, candidate.signature, actor)
        except Invalid as error:
            problem = error.as_json()
        except Conflict:
            return  # removed while it was being read: what was read brings nothing back
        except DAMAGE as error:
            problem = _unread(candidate.slug, error).as_json()
        else:
            if what != "unchanged":
                (report.created if what == "created" else report.changed).append(candidate.slug)
            return
    assert problem is not None, "a candidate is a job or a problem"
    if tx.jobs.by_slug(candidate.slug) is None and not _still_says(home, tx, candidate.slug, candidate.signature):
        return
    tx.jobs.quarantine(candidate.slug, problem, signature=candidate.signature, actor=FILE_ACTOR)
    report.broken[candidate.slug] = str(problem["message"])


def _upsert(home: Home, tx: Tx, job: Job, signature: str, actor: str) -> tuple[str, Schedule]:
    row = tx.jobs.get(job.id)
    if row is not None and row["removed_at"] is not None and not _still_says(home, tx, job.slug, signature):
        raise Conflict(
            f"jobs/{job.slug}.md is not what it was when it was read: {job.slug} stays removed", "read it again"
        )
    _refuse_twins(home.folder.inside(tx), job, row)
    schedule = plan_of(job, row, tx.now)
    frozen = default_model(home.settings.agents)
    return tx.jobs.upsert(job, signature=signature, meaning=schedule.meaning, actor=actor, frozen=frozen), schedule


def _still_says(home: Home, tx: Tx, slug: str, signature: str) -> bool:
    """Whether a file is there as it was when it was read. Only a file that is there brings a removed job back."""
    try:
        return home.folder.inside(tx).signature(slug) == signature
    except NotFound:
        return False
    except Problem:
        return True  # what cannot be looked at has not gone


def checked(home: Home, slug: str, text: str) -> Schedule:
    """What a job file would mean, before it is written. Raises Invalid when it could not be taken in."""
    job = read(text, file=f"jobs/{slug}.md", slug=slug, default_timezone=home.settings.timezone)

    def work(tx: Tx) -> Schedule:
        row = tx.jobs.get(job.id)
        _refuse_twins(home.folder.inside(tx), job, row)
        return plan_of(job, row, tx.now)

    return home.store.transact(work)


def plan_of(job: Job, row: dict[str, Any] | None, now: datetime) -> Schedule:
    """The job's schedule from its anchor. Refuses a new one that has no slot any more."""
    same = row is not None and row["cadence"] == cadence_digest(job)
    anchor = anchor_of(job, row, now)
    schedule = schedule_of(job, anchor)
    if (says := wants_schedule(job, row, schedule.set, now)) is not None and row is not None:
        hint = "give it a new `schedule`, or take the change back"
        file, reason = f"jobs/{job.slug}.md", row["completed_reason"]
        raise Invalid(
            f"{file}: {says}",
            hint,
            file=file,
            line=None,
            key="schedule",
            expected="a new schedule",
            completed_reason=reason,
        )
    if not same and schedule.kind != "demand" and schedule.set.next_after(now - grace_of(schedule.set)) is None:
        raise _without_slots(job, anchor, now)
    return schedule


def _without_slots(job: Job, anchor: datetime, now: datetime) -> Invalid:
    """The error for a new schedule that never fires: of `starts`, `ends` and the schedule, the one that leaves no slot."""
    key, says, hint = "schedule", "is in the past", "give an instant that is still to come, or `in 10m`"
    bare = schedule_of(replace(job, starts=None, ends=None), anchor)
    late = schedule_of(replace(job, ends=None), anchor).set
    if bare.set.next_after(now - grace_of(bare.set)) is None:
        if bare.set.recurs:
            says, hint = "has ended", "let it end later, or not at all"
    elif late.next_after(now - grace_of(late)) is None:
        key, says, hint = "starts", f"has no slot from {job.starts} on", "move `starts` before one of its slots"
    else:
        key, says, hint = "ends", f"has no slot left between {job.starts or 'now'} and {job.ends}", "move `ends`"
    return Invalid(
        f"jobs/{job.slug}.md: schedule {clip(job.schedule, TOLD_MAX)!r} {says} ({clip(bare.meaning, TOLD_MAX)})",
        hint,
        file=f"jobs/{job.slug}.md",
        line=None,
        key=key,
        expected="an instant in the future",
    )


def _remove_parked(tx: Tx) -> None:
    """Files may swap their names, so whose file says another id is given up only once all files were looked at."""
    for job_id in tx.jobs.parked():
        tx.jobs.remove(job_id, actor=FILE_ACTOR, reason="its file has another id now")


def _refuse_twins(folder: Folder, job: Job, row: dict[str, Any] | None) -> None:
    """Two files with one id: the one that was known first keeps it, as long as it is still there."""
    if row is None or row["slug"] == job.slug or row["removed_at"] is not None:
        return
    if not _says(folder, row["slug"], job.id):
        return  # that file was renamed, or is another job's now
    raise Invalid(
        f"jobs/{job.slug}.md: id {job.id} is that of jobs/{row['slug']}.md already",
        "delete the `id` line of the copy; it will be given one of its own",
        file=f"jobs/{job.slug}.md",
        line=None,
        key="id",
        expected="an id that no other file has",
    )


def _says(folder: Folder, slug: str, job_id: str) -> bool:
    """Whether a file carries this id. One that cannot be read or understood keeps what it had."""
    try:
        other = read(folder.read(slug), file=f"jobs/{slug}.md", slug=slug)
    except NotFound:
        return False
    except DAMAGE:
        return True
    return other.id == job_id


def _forget(home: Home, gone: list[str], known: int, report: Report) -> None:
    if not gone:
        return

    def work(tx: Tx) -> None:
        rows = {slug: row for slug in gone if (row := tx.jobs.by_slug(slug)) is not None}
        jobs = sum(1 for row in rows.values() if row["definition"])  # a file that was never valid is no loss
        many = jobs > max(VANISHED_MIN, int(known * VANISHED_SHARE))
        for slug, row in rows.items():
            if many and row["definition"]:
                tx.jobs.quarantine(slug, _held(slug, jobs), signature=HELD, actor=FILE_ACTOR)
                report.held.append(slug)
            else:
                undo = {"verb": "restore", "slug": slug, "definition": json.loads(row["definition"] or "null")}
                tx.jobs.remove(row["id"], actor=FILE_ACTOR, reason="its file was deleted", undo=undo)
                report.removed.append(slug)

    home.store.transact(work)


def _held(slug: str, count: int) -> dict[str, Any]:
    return Invalid(
        f"jobs/{slug}.md is gone, together with {count - 1} others at once",
        f"put the files back, or confirm with `horae remove {slug}`",
        file=f"jobs/{slug}.md",
    ).as_json()
