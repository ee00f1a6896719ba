"""`apply` and `diff`: bring a home to what a folder says, or see what that would mean.

A plan is data, and made by one function: a dry run shows it, `--confirm` makes it again and carries it out. Everything is
written with what was read of it in hand, so that somebody else's change in between is a refusal of that step and no loss.
Order: scripts first, since jobs name them; then removals, whose names may be taken again; then the files of the jobs, all
of which are taken in together, so that two jobs may exchange their names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from horae.app.applyplan import Plan, plan_folder
from horae.app.decided import decided
from horae.app.handed import Step, refusal
from horae.app.jobs import NO_GATEWAY, remove_job
from horae.app.reload import reload
from horae.core.identity import new_job_id
from horae.core.jobfile import edit
from horae.errors import Conflict, Invalid, Problem
from horae.ports import Home, Tx

Json = dict[str, Any]
DONE = {"create": "created", "change": "changed", "rename": "renamed", "restore": "restored", "remove": "removed"}


class Written(NamedTuple):
    """A job's file as it was written, and what of its job would be lost by it."""

    step: Step
    text: str
    slots: list[Json]


def preview_folder(home: Home, *, directory: str, label: str, prune: bool = False, force: bool = False) -> Json:
    """What `apply` would do. Nothing is written."""
    plan = plan_folder(home, home.source(directory), label, prune=prune, force=force)
    count = sum(not step.held for step in plan.steps)
    did = f"{count} change{'' if count == 1 else 's'} to be made; nothing was written"
    if not plan.steps:
        did = "nothing else differs" if plan.refused else f"{label} has nothing that differs"
    return _answer(plan, [], plan.refused, did)


def diff_folder(home: Home, *, directory: str, label: str, prune: bool = False) -> Json:
    """How the home differs from the folder, with `prune` also by the jobs that no file stands for."""
    plan = plan_folder(home, home.source(directory), label, prune=prune, force=True)
    same = not plan.steps and not plan.refused
    return {**_answer(plan, [], plan.refused, f"nothing differs from {label}" if same else ""), "same": same}


def apply_folder(home: Home, *, directory: str, label: str, prune: bool = False, force: bool = False) -> Json:
    """Bring the home to what the folder says."""
    plan = plan_folder(home, home.source(directory), label, prune=prune, force=force)
    refused = [*plan.refused]
    applied = [*_scripts(home, plan.steps, refused), *_removals(home, plan.steps, refused)]
    applied += _jobs(home, [step for step in plan.steps if step.mode is None and step.op != "remove"], refused)
    counts = Counter(item["op"] for item in applied)
    done = ", ".join(f"{word} {counts[op]}" for op, word in DONE.items() if counts[op])
    did = f"{done} from {label}" if applied else f"nothing was changed: {label} has nothing that differs"
    if not applied and (refused or any(step.held for step in plan.steps)):
        did = "nothing was changed"
    answer = _answer(plan, applied, refused, did)
    undoable = [item["undo"] for item in applied if item["undo"]]
    answer["undo"] = undoable[0] if len(applied) == 1 and undoable else None
    if undoable and len(applied) > 1:
        answer["warnings"].append(
            f"each job's change is undone by itself: {', '.join(undoable[:3])}{', …' * (len(undoable) > 3)}"
        )
    if applied and not home.gateway:
        answer["warnings"].append(NO_GATEWAY)
    return answer


def _answer(plan: Plan, applied: list[Json], refused: list[Json], did: str) -> Json:
    return {
        "plan": [step.as_json() for step in plan.steps],
        "applied": applied,
        "held": [step.as_json() for step in plan.steps if step.held],
        "refused": refused,
        "only_here": plan.only_here,
        "did": did,
        "undo": None,
        "warnings": [],
    }


def _done(step: Step, entry: int | None, undo: bool) -> Json:
    return {**step.as_json(), "entry": entry, "undo": f"horae undo {entry}" if undo else None}


def _scripts(home: Home, steps: Sequence[Step], refused: list[Json]) -> Iterable[Json]:
    for step in steps:
        if step.mode is None or step.after is None:
            continue
        try:
            home.scripts.write(step.name, step.after, step.mode, expect=step.before)
        except Problem as error:
            refused.append(refusal(step.origin, step.target, error, op=step.op))
            continue
        entry = home.store.transact(
            lambda tx, name=step.name: tx.journal.append("script_written", actor=home.actor, script=name)
        )
        yield _done(step, entry, undo=False)


def _removals(home: Home, steps: Sequence[Step], refused: list[Json]) -> Iterable[Json]:
    for step in steps:
        if step.op != "remove" or step.held or step.job_id is None:
            continue
        try:
            answer = remove_job(home, job=step.job_id)
        except Problem as error:
            refused.append(refusal(None, step.target, error, op=step.op))
            continue
        yield _done(step, answer["entry"], undo=answer["undo"] is not None)


def _jobs(home: Home, steps: Sequence[Step], refused: list[Json]) -> Iterable[Json]:
    """Write all files, take them in together, then say how each is undone."""
    targets = {step.name for step in steps}
    leaving = {step.leaves[0]: step for step in steps if step.leaves is not None}
    written: list[Written] = []
    touched: list[str] = []
    for step in _ordered(steps, leaving):
        before_it = leaving.get(step.name)
        try:
            if before_it is not None and _failed(before_it, refused):
                raise Conflict(f"{step.target} is still that of another job", "try again")
            written.append(_write(home, step))
            touched.append(step.name)
            if step.leaves is not None and step.leaves[0] not in targets:
                home.folder.remove(step.leaves[0], expect=step.leaves[1])
                touched.append(step.leaves[0])
        except Problem as error:
            refused.append(refusal(step.origin, step.target, error, op=step.op))
    if not touched:
        return
    report = reload(home, touched, actor=home.actor)
    good = [one for one in written if one.step.name not in report.broken]
    for one in written:
        if one.step.name in report.broken:
            error = Invalid(
                f"{one.step.target}: {report.broken[one.step.name]}", "it was written; mend it there or here"
            )
            refused.append(refusal(one.step.origin, one.step.target, error, op=one.step.op))
    entries = home.store.transact(lambda tx: [_tell(home, tx, one) for one in good])
    for one, entry in zip(good, entries, strict=True):
        yield _done(one.step, entry, undo=one.step.leaves is None)


def _ordered(steps: Sequence[Step], leaving: Mapping[str, Step]) -> list[Step]:
    """Whoever takes a name comes after the job that leaves it; of those that exchange names any may be first."""
    order: list[Step] = []
    met: set[str] = set()

    def visit(step: Step) -> None:
        if step.name in met:
            return
        met.add(step.name)
        if step.name in leaving:
            visit(leaving[step.name])
        order.append(step)

    for step in steps:
        visit(step)
    return order


def _failed(step: Step, refused: Sequence[Json]) -> bool:
    return any(item["op"] == step.op and item["target"] == step.target for item in refused)


def _write(home: Home, step: Step) -> Written:
    assert step.after is not None, "a step of a job has its text"
    text = step.after if step.job_id is not None else edit(step.after, {"id": new_job_id(home.entropy(6))})
    slots = [] if step.job_id is None else decided(home, step.job_id)
    home.folder.write(step.name, text, expect=step.before)
    return Written(step, text, slots)


def _tell(home: Home, tx: Tx, one: Written) -> int:
    """Into the journal, as what a person did; a file that was renamed is not put back by text alone."""
    step = one.step
    row = tx.jobs.by_slug(step.name)
    undo: Json | None = None
    if step.leaves is None:
        undo = {"verb": "text", "slug": step.name, "before": step.before, "after": one.text, "slots": one.slots}
        undo |= {"completed": step.completed} if step.completed is not None else {}
    what = "added" if step.before is None else "edited"
    return tx.journal.append(what, actor=home.actor, job_id=row["id"] if row else None, undo=undo)
