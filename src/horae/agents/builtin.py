"""The agent that is built in: the library's loop, with our meter before its model and our tools behind it.

It ends with an answer, or with `Stop`. Whoever waits for a provider or for a person takes the messages along as its state,
and goes on from them: with the same request, or with the calls that were asked for, carried out or refused.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import httpx2
from pydantic import ValidationError
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, RunContext, ToolDenied
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelRequest
from pydantic_ai.toolsets import AbstractToolset

from horae.agents.faults import READABLE, end_of, trouble_of
from horae.agents.forms import Form
from horae.agents.heard import Heard
from horae.agents.meter import Meter
from horae.agents.metered import Empty, Metered, Sent
from horae.agents.providers import client_of, model_of
from horae.agents.stop import Stop
from horae.agents.task import Task
from horae.agents.tell import TEXT_CHARS_MAX, Tell
from horae.agents.tools import drafts, files, memory, servers, shell, skillfiles, web
from horae.agents.tools.place import Place
from horae.agents.tools.told import Agreed, Told, toolset_of
from horae.core.agent import MCP

BUILT_IN: dict[str, AbstractToolset[Place]] = {
    "files": files.TOOLS,
    "web": web.TOOLS,
    "shell": shell.TOOLS,
    "memory": memory.TOOLS,
    "jobs": drafts.JOBS,
    "messages": drafts.MESSAGES,
}
OWNERS = {tool: name for name, tools in BUILT_IN.items() for tool in getattr(tools, "tools", {})}
RETRIES = 1000  # of a tool: the meter ends it
RETRIES_OUTPUT = 2  # of an answer that does not fit its form
APPROVAL_S = 86_400.0  # how long a person's word is waited for
SAYS_CHARS = 200


@dataclass(frozen=True, slots=True)
class Past:
    """From where a run goes on."""

    messages: list[ModelMessage]
    pending: Mapping[str, str] = field(default_factory=dict[str, str])
    """The calls that wait for a person: id → digest."""

    def dump(self, prompt: str) -> str:
        """As text. The prompt is kept beside it, and would make it twice as long."""
        messages = ModelMessagesTypeAdapter.dump_python(self.messages, mode="json")
        for part in _sent_first(messages, prompt):
            part["content"] = ""
        said = {"messages": messages, "pending": dict(self.pending)}
        return json.dumps(said, ensure_ascii=False)


def past_of(state: str, prompt: str) -> Past | None:
    """None where it is not one of ours: it begins anew then."""
    try:
        said = json.loads(state)
        for part in _sent_first(said["messages"], ""):
            part["content"] = prompt
        messages = ModelMessagesTypeAdapter.validate_python(said["messages"])
        return Past(messages, {str(key): str(value) for key, value in said["pending"].items()})
    except (ValueError, KeyError, TypeError, AttributeError, ValidationError):
        return None


def _sent_first(messages: list[dict[str, Any]], content: str) -> list[dict[str, Any]]:
    """The part that holds the prompt."""
    parts: list[dict[str, Any]] = messages[0]["parts"] if messages else []
    return [part for part in parts if part.get("part_kind") == "user-prompt" and part.get("content") == content]


def run(task: Task, prompt: str, tell: Tell, meter: Meter) -> str:
    """Its answer. Raises `Stop` for every other end."""
    return asyncio.run(one_run(task, prompt, tell, meter, client_of()))


async def one_run(task: Task, prompt: str, tell: Tell, meter: Meter, client: httpx2.AsyncClient) -> str:
    """The same with a client, which is closed in the end."""
    place = Place(task, tell, dict(task["notes"]))
    past = past_of(task["state"], prompt) if task["state"] else None
    decision = task["decision"] or {}
    agreed = Agreed(_agreed(past, decision))
    form = Form(task["schema"]) if task["schema"] else None
    async with client as http:
        one = _One(place, meter, Sent(), http, form, _toolsets(task, agreed, http))
        try:
            return await one.run(prompt, past, decision)
        except Empty:
            return ""
        except BaseExceptionGroup as group:
            stops = group.subgroup(Stop)
            if stops is None:
                raise
            raise _first(stops) from None


class _One:
    """One run of it."""

    def __init__(
        self,
        place: Place,
        meter: Meter,
        sent: Sent,
        http: httpx2.AsyncClient,
        form: Form | None,
        toolsets: Sequence[AbstractToolset[Place]],
    ) -> None:
        self._place, self._meter, self._sent, self._http, self._form = place, meter, sent, http, form
        self._agent = Agent[Place, Any](
            None,
            name="horae",
            deps_type=Place,
            output_type=[*(form.outputs() if form else [str]), DeferredToolRequests],
            toolsets=toolsets,
            retries={"tools": RETRIES, "output": RETRIES_OUTPUT},
        )
        if form is not None:
            self._agent.output_validator(_checked(form))

    async def run(self, prompt: str, past: Past | None, decision: dict[str, Any]) -> str:
        """With its model, or with the next one that the job lists while that one's provider cannot answer."""
        tell, models = self._place.tell, self._place.task["models"]
        if not models:
            raise Stop("failed", "the job has no model")
        history = past.messages if past else None
        results = _results(past, decision) if past and past.pending else None
        if history and results is None and not isinstance(history[-1], ModelRequest):
            history = None
        self._sent.messages = history or []
        for number, call in enumerate(models):
            model = Metered(model_of(call, self._http), call, self._meter, self._place, self._sent)
            try:
                result = await self._agent.run(
                    None if history else prompt,
                    model=model,
                    deps=self._place,
                    message_history=history,
                    deferred_tool_results=results,
                    event_stream_handler=Heard(tell),
                )
            except READABLE as error:
                trouble = trouble_of(error, call["name"])
                following = models[number + 1] if number + 1 < len(models) else None
                if trouble is None or not trouble.passes or following is None:
                    raise end_of(error, call["name"], Past(self._sent.messages).dump(prompt)) from error
                tell.event("warning", text=f"{trouble.words}; it goes on with {following['name']}")
                history, results = self._sent.messages or history, None
            else:
                if isinstance(result.output, DeferredToolRequests):
                    raise self._parked(result.output, result.all_messages(), prompt)
                return result.output if isinstance(result.output, str) else json.dumps(result.output)
        raise AssertionError("the last model ends it")

    def _parked(self, asked: DeferredToolRequests, messages: list[ModelMessage], prompt: str) -> Stop:
        """It wants to do what a person is to be asked about: of several calls at once, about all of them."""
        calls = asked.approvals
        pending = {call.tool_call_id: str(asked.metadata[call.tool_call_id]["digest"]) for call in calls}
        tools = ", ".join(call.tool_name for call in calls)
        args = "\n".join(call.args_as_json_str() for call in calls)
        if len(args) > TEXT_CHARS_MAX:
            raise Stop("denied", f"it wants {len(calls)} calls at once, and a person is to read all that they say")
        toolset = toolset_of(calls[0].tool_name, self._place.task["approve"], OWNERS)
        shown = args if len(args) <= SAYS_CHARS else args[: SAYS_CHARS - 1] + "…"
        return Stop(
            "parked",
            f"it wants to call {tools} {shown}",
            again_s=APPROVAL_S,
            state=Past(messages, pending).dump(prompt),
            ask={"tool": tools, "toolset": toolset, "args": args, "digest": digest_over(pending.values())},
        )


def digest_over(digests: Iterable[str]) -> str:
    """Of one call its own; of several one over all."""
    found = sorted(digests)
    return found[0] if len(found) == 1 else sha256("".join(found).encode()).hexdigest()


def _agreed(past: Past | None, decision: dict[str, Any]) -> set[str]:
    """The calls that a person has agreed to. One that had to begin anew may ask for the same call, and has a yes for it."""
    if decision.get("approved") is not True:
        return set()
    if past is None:
        return {str(decision.get("digest"))}
    waiting = past.pending.values()  # none: it was held after the call, and its yes is used up
    return set(waiting) if waiting and decision.get("digest") == digest_over(waiting) else set()


def _results(past: Past, decision: dict[str, Any]) -> DeferredToolResults:
    """What a person said about the calls that wait. Without a word about just these it is a no."""
    if _agreed(past, decision):
        return DeferredToolResults(approvals=dict.fromkeys(past.pending, True))
    reason = str(decision.get("reason") or "").strip()
    who = "a person said no" if decision.get("by") else "nobody has allowed it in time, which is a no"
    words = f"{who}{f': {reason}' if reason else ''}. Do not ask again; go on without it, or say that you cannot."
    return DeferredToolResults(approvals=dict.fromkeys(past.pending, ToolDenied(words)))


def _toolsets(task: Task, agreed: Agreed, http: httpx2.AsyncClient) -> list[AbstractToolset[Place]]:
    """What it may use, and nothing else."""
    found = list[AbstractToolset[Place]]()
    for name in task["tools"]:
        if name in BUILT_IN:
            found.append(Told(BUILT_IN[name], name=name, asks=name in task["approve"], agreed=agreed))
    for server in task["mcp"]:
        name = MCP + server["name"]
        if name in task["tools"]:
            tools = servers.toolset(server, task, http)
            found.append(Told(tools, name=name, asks=name in task["approve"], agreed=agreed))
    if task["skills"]:
        found.append(Told(skillfiles.TOOLS, name="skills"))
    return found


def _checked(form: Form) -> Any:
    def check(_: RunContext[Place], answer: Any) -> Any:
        if isinstance(answer, DeferredToolRequests):
            return answer
        return form.checked(answer)

    return check


def _first(group: BaseExceptionGroup[Stop]) -> Stop:
    found: BaseException = group
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    assert isinstance(found, Stop)
    return found
