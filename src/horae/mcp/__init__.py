"""The face for agents: a server of the Model Context Protocol. Each tool calls one use case."""

from __future__ import annotations

from collections.abc import Mapping

PEOPLE = "only a person may: a client of this kind is an agent, whatever its role"
OWNER = "it is the owner's: it decides about this machine, or about who may come in"
LACKS: Mapping[str, str] = {
    "approve": PEOPLE,
    "deny": PEOPLE,
    "resolve": PEOPLE,
    "make_link": OWNER,
    "sign_in": "a door of the dashboard",
    "sign_out": "a door of the dashboard",
    "tokens": OWNER,
    "add_token": OWNER,
    "end_token": OWNER,
    "secrets": OWNER,
    "apply": "it takes a folder of the machine where it runs; jobs are written one by one here",
    "replace": "edit_job changes keys and leaves the rest of a file alone, comments and all",
    "use_model": "it carries out a plan that a person has seen; edit_job gives one job a model",
    "prune": OWNER,
    "verify": "it is a check for whoever answers for the record; `horae audit verify` makes it",
    "next": "preview_schedule and list_jobs tell it; get_job has a job's next slots",
    "awaited": "get_run follows a run, by the id that run_job answers",
    "rehearse": "preview_job and check tell what would start",
    "compared": "get_run has both results",
    "agenda": "a picture for people; get_calendar has the same days",
    "trends": "a picture for people; list_runs has what it is made of",
    "journal": "get_why tells the decisions about a job",
    "models": "get_job has the model of a job, with what is in the way of it",
    "skills": "get_job has the skills of a job, with what is in the way of them",
    "targets": "get_job has the targets of a job, with what is in the way of them",
    "test_target": "a message to people is a person's to send",
    "open_target": "that an address takes messages again is a person's to say",
    "hooks": OWNER,
    "metrics": "they are for monitors, at /metrics",
}
