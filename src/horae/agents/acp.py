"""Work done by a program that speaks the Agent Client Protocol: one session, one prompt, one answer.

    start → initialize → new session, or the one that it had → its model → prompt → answer

Whatever ends the turn otherwise ends it at once, and the program with it: a limit that the meter reached, a call that it
may not make, a person's word that it needs, being told to stop. A call that waits for a person ends the run too; once there
is a word the same session goes on, if the agent can load one, else a new one that is told what was decided.

The end of a turn is believed only if the model was reached: an agent that makes an answer of its provider's refusal has not
answered, and the run is held. What goes on later has `state`: the session, and what was asked for.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self, TypeVar, cast

import acp
from acp import schema

from horae import __version__
from horae.agents.acpclient import Client
from horae.agents.acppolicy import told
from horae.agents.acpwire import AgentProcess
from horae.agents.ending import Ending
from horae.agents.launch import Launch, launching
from horae.agents.meter import Meter
from horae.agents.stop import Stop
from horae.agents.task import Server, Task
from horae.agents.tell import Tell

INITIALIZE_S = 30.0
SESSION_S = 120.0  # it may start servers of tools first
CANCEL_S = 2.0  # to come to an end by itself
AUTH_REQUIRED = -32000
GOES_ON = (
    "The provider of your model could not answer for a while. It can again: go on with the task from where you were."
)
T = TypeVar("T")


def run(task: Task, prompt: str, tell: Tell, meter: Meter) -> str:
    """The answer's text. Raises Stop for every other end."""
    logging.getLogger().addHandler(logging.NullHandler())  # the library logs what it cannot read: it is told otherwise
    before = Before.of(task["state"])
    with launching(task, meter, tell, before.port) as launch:
        return asyncio.run(_Turn(task, tell, launch, before).answer(prompt))


@dataclass(frozen=True, slots=True)
class Before:
    """From where a run goes on: the session, what was asked of a person, and the meter's port.

    An agent that keeps its session keeps with it where its model was: so the meter comes back to the same port, and where
    that is taken the session is left alone.
    """

    session: str | None = None
    ask: dict[str, Any] | None = None
    port: int | None = None

    @classmethod
    def of(cls, state: str | None) -> Self:
        """What a state says."""
        told: dict[str, Any] = json.loads(state or "{}")
        return cls(told.get("session"), told.get("ask"), told.get("port"))

    @property
    def text(self) -> str:
        """As a state."""
        return json.dumps({"session": self.session, "ask": self.ask, "port": self.port})

    def is_where(self, launch: Launch) -> bool:
        """Whether the meter is where it was."""
        return launch.proxy is None or launch.proxy.port == self.port


class _Turn:
    def __init__(self, task: Task, tell: Tell, launch: Launch, before: Before) -> None:
        self._task, self._tell, self._launch, self._before = task, tell, launch, before
        self._session: str | None = None
        self._loads = False
        self._methods: list[str] = []

    async def answer(self, prompt: str) -> str:
        self._ending = Ending(self._launch.proxy)
        self._client = Client(self._task, self._tell, self._ending.end)
        self._process = await AgentProcess.start(self._launch.argv(), cwd=self._launch.cwd, env=self._launch.env)
        self._agent = acp.connect_to_agent(self._client, self._process, use_unstable_protocol=True)
        try:
            capable = await self._initialize()
            text = await self._opened(capable, prompt)
            return await self._prompt(text)
        finally:
            self._ending.close()
            with suppress(OSError):
                await self._agent.close()
            await self._client.terminals.close()
            await self._process.end()

    # --- the steps

    async def _initialize(self) -> schema.AgentCapabilities:
        said = await self._by(
            INITIALIZE_S,
            "initialize",
            self._agent.initialize(
                protocol_version=acp.PROTOCOL_VERSION,
                client_capabilities=self._client.capabilities(),
                client_info=schema.Implementation(name="horae", title="Horae", version=__version__),
            ),
        )
        if said.protocol_version != acp.PROTOCOL_VERSION:
            raise self._failed(f"it speaks version {said.protocol_version} of the protocol, not {acp.PROTOCOL_VERSION}")
        self._methods = [str(method.name) for method in cast("list[Any]", said.auth_methods or [])]
        return said.agent_capabilities or schema.AgentCapabilities()

    async def _opened(self, capable: schema.AgentCapabilities, prompt: str) -> str:
        """A session, and what is to be said in it."""
        servers = self._servers(capable)
        self._loads = bool(capable.load_session)
        decided = told(self._task["decision"], self._before.ask)
        if self._loads and self._before.session is not None and self._before.is_where(self._launch):
            try:
                loaded = self._agent.load_session(
                    cwd=self._launch.cwd, session_id=self._before.session, mcp_servers=servers
                )
                await self._by(SESSION_S, "session/load", loaded)
            except acp.RequestError as error:
                self._tell.event("warning", text=f"its session is gone ({error}): it begins anew")
            else:
                self._session = self._before.session
                return decided or GOES_ON
        made = await self._by(
            SESSION_S, "session/new", self._agent.new_session(cwd=self._launch.cwd, mcp_servers=servers)
        )
        self._session = made.session_id
        await self._choose(made.config_options or [])
        return f"{prompt}\n\n{decided}" if decided else prompt

    async def _choose(self, options: list[Any]) -> None:
        """The job's model, where the agent offers a choice that has it."""
        wanted = self._task["models"][0]["id"] if self._task["models"] else None
        for option in options:
            if not isinstance(option, schema.SessionConfigOptionSelect) or option.category != "model" or not wanted:
                continue
            offered = [one.value for one in _choices(option)]
            fits = [value for value in offered if value == wanted or value.endswith((f"/{wanted}", f":{wanted}"))]
            if fits and option.current_value not in fits:
                with suppress(acp.RequestError):
                    await self._by(
                        SESSION_S,
                        "session/set_config_option",
                        self._agent.set_config_option(
                            config_id=option.id, session_id=self._session or "", value=fits[0]
                        ),
                    )

    async def _prompt(self, text: str) -> str:
        self._client.listens = True
        done = await self._by(
            None,
            "session/prompt",
            self._agent.prompt(session_id=self._session or "", prompt=[acp.text_block(text)]),
        )
        self._client.speech.divide()
        if self._ending.came.done():
            raise self._ending.came.result()
        if (stop := self._launch.ended(self._state(None))) is not None:
            raise stop
        if done.stop_reason == "end_turn":
            if self._launch.passed_by:
                raise self._failed(
                    "it answered, but no call of a model came by the meter: its own settings lead elsewhere"
                )
            answer = self._client.speech.answer
            if not answer.strip() and (denied := self._client.policy.place.denied.total()):
                raise Stop("denied", f"{denied} of its calls were denied, and it ended without an answer")
            return answer
        raise {
            "max_tokens": Stop("limit", "its answer was cut off: the model may write no more tokens at a time"),
            "max_turn_requests": Stop("limit", "it reached its own limit of model calls for a turn"),
            "refusal": self._failed("it refused to go on"),
            "cancelled": self._failed("it says that its turn was called off"),
        }[done.stop_reason]

    def _servers(self, capable: schema.AgentCapabilities) -> list[Any]:
        """The servers of tools that it is to use."""
        found: list[Any] = []
        reached = capable.mcp_capabilities
        for server in self._task["mcp"]:
            if server["tools"] is not None:
                why = "which of its tools may be used cannot be said to an agent like this"
            elif server["url"] is not None and not (reached and reached.http):
                why = "it reaches servers by their program only"
            else:
                found.append(_server(server))
                continue
            self._tell.event("warning", text=f"mcp:{server['name']} is not handed on to {self._name}: {why}")
        return found

    # --- ends

    @property
    def _name(self) -> str:
        return self._launch.agent["name"]

    async def _by(self, seconds: float | None, step: str, request: Coroutine[Any, Any, T]) -> T:
        """What it answers. Raises Stop, and RequestError of steps that can do without."""
        asked = asyncio.ensure_future(request)
        await asyncio.wait({asked, self._ending.came}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if self._ending.came.done():
            await self._call_off(asked)
            raise self._stop(self._ending.came.result())
        if not asked.done():
            await self._call_off(asked)
            words = await self._process.last_words()
            raise self._failed(f"it has not answered {step} in {seconds:g} s. {words}".rstrip(". "))
        try:
            return asked.result()
        except acp.RequestError as error:
            if step in ("session/load", "session/set_config_option"):
                raise
            raise await self._wrong(step, error) from error
        except OSError as error:
            raise await self._gone(step) from error
        except ValueError as error:  # of the library, about an answer that is not as the protocol has it
            raise self._failed(f"its answer to {step} is not as the protocol has it") from error

    async def _wrong(self, step: str, error: acp.RequestError) -> Stop:
        if (stop := self._launch.ended(self._state(None))) is not None:
            return stop
        if error.code == AUTH_REQUIRED:
            ways = f" It offers: {', '.join(self._methods)}." if self._methods else ""
            return self._failed(
                f"it wants to be authenticated first.{ways} Do it by hand once, or give it a key in `env`"
            )
        more = _detail(cast("object", error.data))
        return self._failed(f"{step}: {error}{f' ({more[:500]})' if more else ''}")

    async def _gone(self, step: str) -> Stop:
        if self._ending.came.done():
            return self._stop(self._ending.came.result())
        words = await self._process.last_words()
        if (stop := self._launch.ended(self._state(None))) is not None:
            return stop
        if not self._process.speaks:
            return self._failed(f"it does not speak the Agent Client Protocol: {words}")
        return self._failed(f"it ended during {step}: {words}")

    async def _call_off(self, asked: asyncio.Future[Any]) -> None:
        """Have it end its turn by itself, for a moment."""
        if self._session is not None:
            with suppress(OSError):
                await self._agent.cancel(session_id=self._session)
            await asyncio.wait({asked}, timeout=CANCEL_S)
        asked.cancel()
        await asyncio.wait({asked})
        self._client.speech.divide()

    def _stop(self, stop: Stop) -> Stop:
        """The same, with what it needs to go on."""
        if stop.how == "parked":
            stop.state = self._state(stop.ask)
        return stop

    def _state(self, ask: dict[str, Any] | None) -> str | None:
        session = self._session if self._loads else None
        return Before(session, ask, self._launch.proxy and self._launch.proxy.port).text if session or ask else None

    def _failed(self, says: str) -> Stop:
        return Stop("failed", f"{self._name}: {says}")


def _detail(data: object) -> str:
    """What an error says beyond its name."""
    told = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
    return str(told.get("details") or told.get("message") or "")


def _choices(option: schema.SessionConfigOptionSelect) -> list[schema.SessionConfigSelectOption]:
    found: list[schema.SessionConfigSelectOption] = []
    for one in option.options:
        found += one.options if isinstance(one, schema.SessionConfigSelectGroup) else [one]
    return found


def _server(server: Server) -> Any:
    if server["url"] is not None:
        token = server["token"]
        headers = [schema.HttpHeader(name="Authorization", value=f"Bearer {token}")] if token else []
        return schema.HttpMcpServer(type="http", name=server["name"], url=server["url"], headers=headers)
    command, *args = server["command"]
    env = [schema.EnvVariable(name=name, value=value) for name, value in server["env"].items()]
    return schema.McpServerStdio(name=server["name"], command=command, args=args, env=env)
