"""Every use case by its name: what it is, which role it takes, and whether only a person may.

All faces find what they do here, so that all can do the same and refuse the same; `tests/test_faces.py` lists the faces and
what each of them lacks, with the reason. A *confirmation* lets something be done that somebody else has proposed, or says
what no program can know; it takes a person, at the command line or in the dashboard.

The command line is the owner's own and asks nobody; it calls the same functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from horae.app import (
    access,
    agenda,
    asks,
    audit,
    calendar,
    doctor,
    draft,
    incidents,
    journal,
    listing,
    models,
    preview,
    replay,
    runs,
    skills,
    status,
    targets,
    targettest,
    trends,
    views,
    why,
)
from horae.app import secrets as secret_names
from horae.app.verbs import VERBS
from horae.core.access import Role, Who, allows
from horae.errors import NotFound, Refused

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class UseCase:
    """One of them. `call` takes the home and keyword arguments, and returns JSON."""

    call: Callable[..., Any]
    role: Role | None
    """The least that it takes; None where somebody comes in by it."""
    what: str
    changes: bool = True
    confirms: bool = False


def _looks(call: Callable[..., Any], what: str, role: Role = "read") -> UseCase:
    return UseCase(call, role, what, changes=False)


def _does(name: str, role: Role | None, what: str, *, confirms: bool = False) -> UseCase:
    return UseCase(VERBS[name], role, what, confirms=confirms)


USE_CASES: Mapping[str, UseCase] = {
    # looking
    "status": _looks(status.status_of, "is the gateway alive, what is next, what waits for people"),
    "jobs": _looks(listing.list_jobs, "list jobs"),
    "job": _looks(views.show_job, "show one job with its next slots"),
    "next": _looks(preview.next_slots, "preview slots of a job, a schedule, or the home"),
    "draft": _looks(draft.draft, "what a job would be, before it is written"),
    "choices": _looks(draft.choices, "what a job may name"),
    "calendar": _looks(calendar.calendar, "the coming days, with what runs on each of them"),
    "agenda": _looks(agenda.agenda, "what was and what will be between two instants"),
    "trends": _looks(trends.trends, "how runs went over days, in sums"),
    "runs": _looks(views.list_runs, "list runs, newest first"),
    "log": _looks(views.run_log, "one run: what it said and did, and what became of its messages"),
    "awaited": _looks(runs.awaited, "how an ordered run stands"),
    "rehearse": _looks(runs.rehearse, "what a run of a job would start"),
    "compared": _looks(replay.compared, "how two runs of an agent differ"),
    "why": _looks(why.why, "the decisions about a job's slots"),
    "asks": _looks(asks.list_asks, "what waits for a person's word"),
    "incidents": _looks(incidents.list_incidents, "what goes wrong again and again"),
    "targets": _looks(targets.list_targets, "what messages can be sent to"),
    "models": _looks(models.list_models, "models, and who uses them"),
    "skills": _looks(skills.list_skills, "skills, and who uses them"),
    "secrets": _looks(secret_names.list_secrets, "names of secrets, and who uses them", "admin"),
    "doctor": _looks(doctor.doctor, "everything that is known to be silently broken"),
    "check": _looks(doctor.check, "preflight a job, or all of them, without running"),
    "verify": _looks(audit.verify, "check the journal's chains"),
    "journal": _looks(journal.journal, "the journal, the newest entries first"),
    "test_target": _looks(targettest.send_test, "send a test message to a target", "operate"),
    "tokens": _looks(access.list_credentials, "who may come in", "admin"),
    # steering
    "run": _does("run", "operate", "run a job now"),
    "cancel": _does("cancel", "operate", "end a running run"),
    "pause": _does("pause", "operate", "stop a job's slots, or all jobs'"),
    "resume": _does("resume", "operate", "let slots run again"),
    "skip": _does("skip", "operate", "skip one slot"),
    "move": _does("move", "operate", "move one slot"),
    "undo": _does("undo", "operate", "take back what a person did"),
    "replay": _does("replay", "operate", "run an agent once more with the prompt of a run"),
    "resend": _does("resend", "operate", "send what a run said anew"),
    "ack": _does("ack", "operate", "be reminded of an incident no more, or not for a while"),
    "open_target": _does("open_target", "operate", "send to an address again that said it takes nothing"),
    "propose": _does("propose", "operate", "propose a job, for a person to accept"),
    # definitions and settings
    "add": _does("add", "admin", "make a job"),
    "edit": _does("edit", "admin", "change keys of a job"),
    "replace": _does("replace", "admin", "put a new text in place of a job's file"),
    "remove": _does("remove", "admin", "delete a job"),
    "apply": _does("apply", "admin", "bring the home to what a folder says"),
    "use_model": _does("use_model", "admin", "choose another model"),
    "prune": _does("prune", "admin", "take away what is older than the config says"),
    "add_token": _does("add_token", "admin", "make a token for a program"),
    "end_token": _does("end_token", "admin", "revoke a token, or end a session"),
    # confirmations
    "approve": _does("approve", "operate", "let it be done, what is asked", confirms=True),
    "deny": _does("deny", "operate", "let it not be done", confirms=True),
    "resolve": _does("resolve", "operate", "say how a run ended of which nobody knows", confirms=True),
    # doors
    "make_link": _does("make_link", "admin", "make a link for one visit to the dashboard", confirms=True),
    "sign_in": _does("sign_in", None, "come in by a link"),
    "sign_out": _does("sign_out", "read", "end one's own session"),
}


def permitted(who: Who, name: str) -> UseCase:
    """The use case, if this one may. Raises NotFound, Refused."""
    case = USE_CASES.get(name)
    if case is None:
        raise NotFound(f"there is no use case {name!r}", None)
    if not allows(who.role, case.role):
        says = f"to {case.what}, the role {case.role} is needed, and {who.name} has {who.role or 'none'}"
        raise Refused(says, "`horae tokens add NAME --role …` makes a token with another role", needed=case.role)
    if case.confirms and not who.person:
        says = f"only a person may do this: {case.what}"
        raise Refused(says, "do it in the dashboard, signed in, or on the command line", needed="person")
    return case
