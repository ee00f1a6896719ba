"""What agents ask of people: a call that waits for a word, a job or a message that is proposed. Only people answer.

A call that is approved is carried out once, exactly as it was asked; the run goes on from where it was. One that is denied
is told to the agent, which goes on without it. A proposed job that is approved is made as any other, with what its author
may choose: a name, a schedule, a prompt. Tools, secrets and targets are not the agent's to grant, so it gets the usual ones.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import Any

from horae.app.jobs import NO_GATEWAY, add_job, find, remove_job
from horae.app.views import find_run_of
from horae.core.delivery import Addressee, Manner
from horae.core.text import one_line
from horae.errors import Ambiguous, Conflict, Invalid, NotFound
from horae.ports import Home

Json = dict[str, Any]
REASON_CHARS_MAX = 400
PROPOSED = ("name", "schedule", "prompt")  # what of a job an agent must say; it may say `timezone` too


def list_asks(home: Home, *, all: bool = False) -> Json:
    """What waits for a person's word, the newest first; with `all` what has waited too."""
    reader = home.read()
    try:
        found = reader.asks(open=not all)
    finally:
        reader.close()
    now = home.clock.now()
    return {"asks": [ask for ask in found if all or not _too_late(ask, now)]}


def _too_late(ask: Json, now: datetime) -> bool:
    """Whether a draft has waited too long. A call's end is told by its slot."""
    return ask["run"] is None and ask["expires_at"] is not None and datetime.fromisoformat(ask["expires_at"]) <= now


def approve(home: Home, *, ask: str, reason: str | None = None) -> Json:
    """Let it be done. `ask` is an id, a run, or a job of which one thing waits."""
    return _decide(home, ask, reason, approved=True)


def deny(home: Home, *, ask: str, reason: str | None = None) -> Json:
    """Let it not be done."""
    return _decide(home, ask, reason, approved=False)


def _decide(home: Home, text: str, reason: str | None, *, approved: bool) -> Json:
    found = _meant(home, text)
    because = one_line(reason, REASON_CHARS_MAX) if reason else None
    made: Json = {}
    to: tuple[Addressee, ...] = ()
    if approved and found["kind"] == "message":
        to = _addressees(home, found)
    if approved and found["kind"] == "job" and found["decision"] is None and not _too_late(found, home.clock.now()):
        made = _job(home, found)

    def work(tx: Any) -> Json:
        done = tx.agents.decide(found["id"], approved=approved, actor=home.actor, reason=because)
        if to:
            title = f"{found['job']}: a message"
            manner = Manner(give_up_s=home.settings.give_up_s)
            tx.outbox.say(found["job_id"], title, str(found["body"].get("text") or ""), to, manner)
        return done

    try:
        decided = home.store.transact(work)
    except Conflict:
        if made:  # somebody else was faster, and has made it or has said no
            remove_job(home, job=made["job"]["id"])
        raise
    home.wake()
    warnings = list(made.get("warnings", ()))
    if not home.gateway and NO_GATEWAY not in warnings:
        warnings.append(NO_GATEWAY)
    return {
        "ask": {**found, "decision": "approved" if approved else "denied", "reason": because},
        "entry": decided["entry"],
        "job": made.get("job"),
        "did": _did(found, made, approved=approved),
        "undo": made.get("undo"),
        "warnings": warnings,
    }


def _meant(home: Home, text: str) -> Json:
    """The question that a person means. Raises NotFound, Ambiguous."""
    reader = home.read()
    try:
        try:
            return reader.find_ask(text)
        except NotFound as error:
            waiting = reader.asks(open=True)
            refused = error
        wanted = {find_run_of(reader, text)}
    finally:
        reader.close()
    with suppress(NotFound, Ambiguous):
        wanted.add(find(home, text).row["id"])
    fitting = [item for item in waiting if {item["run"], item["job_id"]} & (wanted - {None})]
    if not fitting:
        raise refused
    if len(fitting) > 1:
        ids = [item["id"] for item in fitting]
        raise Ambiguous(f"{len(fitting)} things wait there", "name one by its id", candidates=ids)
    return fitting[0]


def _job(home: Home, ask: Json) -> Json:
    body = ask["body"]
    said = {key: body.get(key) for key in PROPOSED}
    lacking = [key for key, value in said.items() if not isinstance(value, str) or not value.strip()]
    if lacking:
        says = f"the draft {ask['id']} has no {lacking[0]}, so no job can be made of it"
        raise Invalid(says, f"`horae deny {ask['id']}` puts it aside; `horae add` makes a job by hand")
    fields = {"name": said["name"], "prompt": said["prompt"], "timezone": body.get("timezone")}
    return add_job(home, schedule=str(said["schedule"]), fields=fields)


def _addressees(home: Home, ask: Json) -> tuple[Addressee, ...]:
    """Where a proposed message goes. Raises Invalid for a target that there is not."""
    target = str(ask["body"].get("target") or "")
    return tuple(Addressee(target, str(address)) for address in home.targets.resolve(target))


def _did(ask: Json, made: Json, *, approved: bool) -> str:
    if not approved:
        return f"denied {ask['id']} of {ask['slug'] or ask['asked_by']}"
    if ask["kind"] == "call":
        return f"approved {ask['id']}: {ask['slug']} goes on"
    return f"approved {ask['id']}: {made['did']}" if made else f"approved {ask['id']}: the message is on its way"
