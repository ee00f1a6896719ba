"""The toolsets `jobs` and `messages`: proposals. A person accepts them or does not; until then they have no effect."""

from __future__ import annotations

from typing import Any

from pydantic_ai import FunctionToolset, RunContext, ToolFailed

from horae.agents.tools.place import Place

TEXT_CHARS_MAX = 15_000
DRAFTS_MAX = 20  # of one run: more is no proposal
ONLY = "It is a draft: nothing happens until a person accepts it."


def draft_job(ctx: RunContext[Place], name: str, schedule: str, prompt: str, reason: str = "") -> str:
    """Propose a new job. It is only a draft: a person decides whether it becomes one.

    Args:
        ctx: The run.
        name: What it is called.
        schedule: When it runs, like "every day at 7:00".
        prompt: What it is to do.
        reason: Why.
    """
    return _draft(ctx, "job", {"name": name, "schedule": schedule, "prompt": prompt, "reason": reason})


def draft_message(ctx: RunContext[Place], target: str, text: str) -> str:
    """Propose a message to a target. It is only a draft: a person decides whether it is sent.

    Args:
        ctx: The run.
        target: To whom.
        text: What is to be sent.
    """
    return _draft(ctx, "message", {"target": target, "text": text})


JOBS = FunctionToolset[Place]([draft_job], id="jobs", sequential=True)
MESSAGES = FunctionToolset[Place]([draft_message], id="messages", sequential=True)


def _draft(ctx: RunContext[Place], what: str, body: dict[str, Any]) -> str:
    place = ctx.deps
    for key, text in body.items():
        if len(text) > TEXT_CHARS_MAX:
            raise ToolFailed(f"{key} has {len(text)} characters, and a draft takes at most {TEXT_CHARS_MAX}")
    if place.drafts >= DRAFTS_MAX:
        raise ToolFailed(f"a run proposes at most {DRAFTS_MAX} things")
    if not place.tell.event("draft", what=what, body=body):
        raise ToolFailed("nothing more can be proposed in this run")
    place.drafts += 1
    return ONLY
