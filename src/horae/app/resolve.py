"""A person's word on how an unknown run ended. Nobody else has one: what no program saw, no program decides.

`completed` and `failed` are that word. `rerun` is `failed`, and a manual run with the same input, ordered in the same
transaction: either both are on record or neither. The slot stays accounted for as it was, since a run of it had begun.

A resolution cannot be undone: a finished run is written once. Whoever was wrong orders a run, or says so in a reason.
"""

from __future__ import annotations

from typing import Any

from horae.app.jobs import NO_GATEWAY
from horae.core.identity import RUN_ID_CHARS
from horae.core.text import one_line
from horae.errors import Invalid, Refused
from horae.ports import Home, Reader, Record, Tx

Json = dict[str, Any]
WORDS = ("completed", "failed", "rerun")
REASON_CHARS_MAX = 400


def resolve_run(home: Home, *, run: str, said: str, reason: str | None = None) -> Json:
    """Say how an unknown run ended: `completed`, `failed`, or `rerun` to have its work done again."""
    if said not in WORDS:
        raise Invalid(f"a run cannot be resolved as {said!r}", f"say one of {', '.join(WORDS)}", field="as", value=said)
    reader = home.read()
    try:
        found = reader.find_run(run)
        _refuse_known(reader, found)
        occurrence = reader.occurrence_by_key(found["key"])
    finally:
        reader.close()
    given = occurrence["input"] if occurrence is not None else None
    again = home.entropy(RUN_ID_CHARS // 2).hex() if said == "rerun" else None
    because = one_line(reason, REASON_CHARS_MAX) if reason else None

    def work(tx: Tx) -> Record | None:
        job = tx.jobs.get(found["job_id"])
        if again is not None:
            _refuse_rerun(job, found["id"])
        tx.runs.resolve(found["id"], said, actor=home.actor, reason=because, again=again)
        if again is not None:
            tx.jobs.order_run(found["job_id"], run_id=again, actor=home.actor, input=given)
        return job

    job = home.store.transact(work)
    if again is not None:
        home.wake()
    return _answer(home, found["id"], job, said, again)


def _refuse_known(reader: Reader, found: Record) -> None:
    """Only what nobody knows is anybody's to say."""
    if found["state"] == "unknown":
        return
    live = found["state"] in ("claimed", "running")
    hint = f"`horae log {found['id']}` shows it" + (", `horae cancel` ends it" if live else "")
    says = f"run {found['id']} is {found['state']}, so there is nothing to resolve: only an unknown run can be"
    if found["resolved_by"] is not None:
        shown = reader.list_runs(job_id=None, state=None, limit=1, cursor=None, run_id=found["id"])["runs"][0]
        says = f"run {found['id']} is {found['state']} already: {shown['reason']}"
        hint = "a resolution stands; `horae run JOB` has the work done again"
    raise Refused(says, hint, state=found["state"])


def _refuse_rerun(job: Record | None, run_id: str) -> None:
    """What could not be started is not promised."""
    if job is None or job["removed_at"] is not None:
        says = "its job was removed, so it cannot be run again"
        raise Refused(says, f"`horae resolve {run_id} --as failed` or `--as completed` says how it ended")
    if job["problem"] is not None:
        says = f"{job['slug']} cannot run: its file is broken"
        raise Refused(says, "`horae doctor` says what is wrong with it; then resolve the run again")


def _answer(home: Home, run_id: str, job: Record | None, said: str, again: str | None) -> Json:
    reader = home.read()
    try:
        shown = reader.list_runs(job_id=None, state=None, limit=1, cursor=None, run_id=run_id)["runs"][0]
    finally:
        reader.close()
    slug = shown["slug"]
    did = f"run {run_id} of {slug} is {shown['state']}, by your word"
    if again is not None:
        did += f"; ordered run {again} in its place"
    warnings = [NO_GATEWAY] if again is not None and not home.gateway else []
    if again is not None and job is not None and job["completed_at"] is not None:
        warnings.append(f"{slug} stays completed: the run is done by hand")
    return {
        "run": shown,
        "as": said,
        "run_id": again,
        "job": {"id": shown["job_id"], "slug": slug, "name": shown["job"]},
        "did": did,
        "undo": None,
        "warnings": warnings,
    }
