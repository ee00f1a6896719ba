"""The use cases that change something, by the names under which faces ask for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from horae.app.access import add_token, end_token, make_link, sign_in, sign_out, touch
from horae.app.apply import apply_folder
from horae.app.asks import approve, deny
from horae.app.cancel import cancel_run
from horae.app.exceptions import move_slot, skip_slot
from horae.app.hooks import take_call
from horae.app.incidents import acknowledge
from horae.app.jobs import add_job, edit_job, remove_job, replace_text
from horae.app.models import use_model
from horae.app.once import once
from horae.app.pausing import pause_jobs, resume_jobs
from horae.app.propose import propose_job
from horae.app.replay import replay_run
from horae.app.resend import resend_run
from horae.app.resolve import resolve_run
from horae.app.retention import prune
from horae.app.runs import run_job
from horae.app.targets import open_target
from horae.app.undo import undo

DEEDS: Mapping[str, Callable[..., dict[str, Any]]] = {
    "add": add_job,
    "edit": edit_job,
    "replace": replace_text,
    "pause": pause_jobs,
    "resume": resume_jobs,
    "remove": remove_job,
    "run": run_job,
    "cancel": cancel_run,
    "approve": approve,
    "deny": deny,
    "replay": replay_run,
    "resolve": resolve_run,
    "resend": resend_run,
    "ack": acknowledge,
    "skip": skip_slot,
    "move": move_slot,
    "undo": undo,
    "apply": apply_folder,
    "prune": prune,
    "use_model": use_model,
    "open_target": open_target,
    "propose": propose_job,
    "make_link": make_link,
    "sign_in": sign_in,
    "sign_out": sign_out,
    "add_token": add_token,
    "end_token": end_token,
}
VERBS: Mapping[str, Callable[..., dict[str, Any]]] = {
    **DEEDS,
    "once": partial(once, DEEDS),
    "touch": touch,
    "take_call": take_call,
}
"""With what no face asks for by itself."""
