"""The side of the Agent Client Protocol that serves the agent: it hears what is done, and answers whatever is asked for.

Nothing is left open: permission is given or denied at once by the job's grants (`acppolicy`), and a question to a person is
declined. Files of the job's folder are read and written for it where `files` is granted (`tools.confine` keeps it in
there); commands are run for it in the sandbox where `shell` is (`acpterminals`). An end that is noticed here (`ended`) is
for whoever waits for the turn.

The answer is what it said after its last call; where it said nothing then, what it said last.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import acp
from acp import schema

from horae.agents.acppolicy import Policy, option, toolset_of
from horae.agents.acpterminals import Terminals
from horae.agents.stop import Stop
from horae.agents.task import Task
from horae.agents.tell import Tell
from horae.agents.tools.confine import Outside, opened
from horae.agents.tools.place import Place, as_text

PIECE_CHARS = 1000  # of a message, told while it grows
READ_BYTES_MAX = 4 * 1024 * 1024
WRITE_BYTES_MAX = 4 * 1024 * 1024
ANSWER_CHARS_MAX = 1_000_000


class Speech:
    """What it says: messages, which calls divide."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._message, self._before, self._name = "", "", None
        self._told = 0

    def say(self, text: str, name: str | None) -> None:
        """A piece of a message; another name is another message."""
        if name != self._name:
            self.divide()
            self._name = name
        if len(self._message) < ANSWER_CHARS_MAX:
            self._message += text
        if len(self._message) - self._told >= PIECE_CHARS:
            self.flush()

    def divide(self) -> None:
        """A message is over."""
        self.flush()
        if self._message.strip():
            self._before = self._message
        self._message, self._told = "", 0

    def flush(self) -> None:
        """Tell what has come of it."""
        text, self._told = self._message[self._told :], len(self._message)
        if text.strip():
            self._tell.event("text", text=text)

    @property
    def answer(self) -> str:
        """The last one that says something."""
        return self._message if self._message.strip() else self._before


class Client(acp.Client):
    """Of one run. `ended` is told once or more often; the first one counts."""

    def __init__(self, task: Task, tell: Tell, ended: Callable[[Stop], None]) -> None:
        self._tell, self._ended = tell, ended
        self.policy = Policy(task, tell)
        self.terminals = Terminals(self.policy.place)
        self.speech = Speech(tell)
        self.listens = False
        """Whether what comes belongs to this run: a session that is loaded is told again from its beginning."""
        self._calls: dict[str, tuple[str, str]] = {}

    def on_connect(self, conn: acp.Agent) -> None:
        """Nothing to be done."""

    def capabilities(self) -> schema.ClientCapabilities:
        """What is done for the agent here."""
        files = self.policy.offers("files")
        return schema.ClientCapabilities(
            fs=schema.FileSystemCapabilities(read_text_file=files, write_text_file=files),
            terminal=self.policy.offers("shell"),
        )

    # --- what it does

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        """See the protocol."""
        if not self.listens:
            return
        try:
            self._updated(update)
        except Stop as stop:
            self._ended(stop)

    def _updated(self, update: Any) -> None:
        if isinstance(update, schema.AgentMessageChunk):
            if isinstance(update.content, schema.TextContentBlock):
                self.speech.say(update.content.text, update.message_id)
        elif isinstance(update, schema.ToolCallStart | schema.ToolCallProgress):
            self._call(update)
        elif isinstance(update, schema.AgentPlanUpdate):
            lines = [f"[{'x' if entry.status == 'completed' else ' '}] {entry.content}" for entry in update.entries]
            self._tell.event("text", text="Plan:\n" + "\n".join(lines))

    def _call(self, update: schema.ToolCallStart | schema.ToolCallProgress) -> None:
        name = update.tool_call_id
        known = self._calls.get(name)
        kind = update.kind or (known[0] if known else "other")
        title = update.title or (known[1] if known else kind)
        self._calls[name] = (kind, title)
        if known is None:
            self.speech.divide()
            args = as_text(update.raw_input) if update.raw_input is not None else ""
            self._tell.event("tool", id=name, tool=title, toolset=toolset_of(kind), args=args)
        if update.status in ("completed", "failed"):
            self._tell.event("result", id=name, ok=update.status == "completed", text=_result(update), ms=0)
        if update.status == "completed":  # some ask while it is in progress
            self.policy.called(name, kind, title)

    # --- what it asks

    async def request_permission(
        self, session_id: str, tool_call: schema.ToolCallUpdate, options: list[schema.PermissionOption], **kwargs: Any
    ) -> schema.RequestPermissionResponse:
        """See the protocol. Answered at once."""
        known = self._calls.get(tool_call.tool_call_id)
        kind = tool_call.kind or (known[0] if known else "other")
        title = tool_call.title or (known[1] if known else kind)
        allow = False
        try:
            allow = self.policy.asked(tool_call.tool_call_id, kind, title, _args(tool_call))
        except Stop as stop:
            self._ended(stop)
            return _called_off()
        chosen = option([(one.option_id, one.kind) for one in options], allow=allow)
        if chosen is None:
            if allow:
                self._tell.event(
                    "warning",
                    text=f"{title} is granted, but the agent offers no `allow_once`: it was not allowed for good",
                )
            return _called_off()
        return schema.RequestPermissionResponse(outcome=schema.AllowedOutcome(outcome="selected", option_id=chosen))

    async def create_elicitation(self, message: str, mode: Any, **kwargs: Any) -> schema.DeclineElicitationResponse:
        """A question to a person: there is none."""
        self._tell.event("denied", tool="question", args=message, why="nobody is here to answer")
        return schema.DeclineElicitationResponse(action="decline")

    async def complete_elicitation(self, elicitation_id: str, **kwargs: Any) -> None:
        """Of nothing that was begun."""

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Nothing beyond the protocol."""
        raise acp.RequestError.method_not_found(method)

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        """Not heard."""

    # --- files

    async def read_text_file(
        self, session_id: str, path: str, line: int | None = None, limit: int | None = None, **kwargs: Any
    ) -> schema.ReadTextFileResponse:
        """See the protocol."""
        where = self._inside("fs/read_text_file", path)
        try:
            with opened(self._root, where, os.O_RDONLY, self._place.walls) as fd:
                data = b""
                while len(data) < READ_BYTES_MAX and (more := os.read(fd, READ_BYTES_MAX - len(data))):
                    data += more
        except FileNotFoundError:
            raise acp.RequestError.resource_not_found(path) from None
        except (Outside, OSError) as error:
            raise acp.RequestError.invalid_params({"details": str(error)}) from error
        text = data.decode("utf-8", "replace")
        if line is not None or limit is not None:
            first = max(0, (line or 1) - 1)
            lines = text.splitlines(keepends=True)
            text = "".join(lines[first : None if limit is None else first + limit])
        return schema.ReadTextFileResponse(content=text)

    async def write_text_file(
        self, session_id: str, path: str, content: str, **kwargs: Any
    ) -> schema.WriteTextFileResponse | None:
        """See the protocol."""
        where = self._inside("fs/write_text_file", path)
        data = content.encode("utf-8", "replace")
        if len(data) > WRITE_BYTES_MAX:
            raise acp.RequestError.invalid_params({"details": f"a file may have {WRITE_BYTES_MAX} bytes"})
        try:
            with opened(self._root, where, os.O_WRONLY | os.O_CREAT, self._place.walls, make=True) as fd:
                os.ftruncate(fd, 0)
                rest = memoryview(data)
                while rest:
                    rest = rest[os.write(fd, rest) :]
        except (Outside, OSError) as error:
            raise acp.RequestError.invalid_params({"details": str(error)}) from error
        return schema.WriteTextFileResponse()

    @property
    def _place(self) -> Place:
        return self.policy.place

    @property
    def _root(self) -> str:
        return self._place.folder

    def _inside(self, tool: str, path: str) -> str:
        """The path from the folder on. Raises RequestError."""
        self._granted("files", tool)
        for root in (self._root, os.path.realpath(self._root)):
            if self._root and os.path.commonpath([root, os.path.normpath(path)]) == root:
                return os.path.relpath(path, root)
        self._deny(tool, {"path": path}, "it lies outside of the job's folder")
        raise acp.RequestError.invalid_params({"details": f"{path} lies outside of {self._root}"})

    def _granted(self, toolset: str, tool: str) -> None:
        if not self.policy.offers(toolset):
            self._deny(tool, "", f"the job was not granted {toolset}")
            raise acp.RequestError.method_not_found(tool)

    def _deny(self, tool: str, args: Any, why: str) -> None:
        try:
            self.policy.place.deny(tool, args, why)
        except Stop as stop:
            self._ended(stop)

    # --- commands

    async def create_terminal(
        self,
        session_id: str,
        command: str,
        args: list[str] | None = None,
        env: list[schema.EnvVariable] | None = None,
        cwd: str | None = None,
        output_byte_limit: int | None = None,
        **kwargs: Any,
    ) -> schema.CreateTerminalResponse:
        """See the protocol."""
        self._granted("shell", "terminal/create")
        words = [command, *(args or [])] if args else ["/bin/sh", "-c", command]
        given = {one.name: one.value for one in env or []}
        try:
            name = self.terminals.begin(words, given, cwd)
        except Stop as stop:
            self._deny("terminal/create", " ".join(words), stop.says)
            raise acp.RequestError.invalid_params({"details": stop.says}) from stop
        return schema.CreateTerminalResponse(terminal_id=name)

    async def terminal_output(self, session_id: str, terminal_id: str, **kwargs: Any) -> schema.TerminalOutputResponse:
        """See the protocol."""
        text, ended = self.terminals.output(terminal_id)
        status = None if ended is None else schema.TerminalExitStatus(exit_code=ended.code)
        return schema.TerminalOutputResponse(output=text, truncated=False, exit_status=status)

    async def wait_for_terminal_exit(
        self, session_id: str, terminal_id: str, **kwargs: Any
    ) -> schema.WaitForTerminalExitResponse:
        """See the protocol."""
        ended = await self.terminals.wait(terminal_id)
        return schema.WaitForTerminalExitResponse(exit_code=ended.code)

    async def kill_terminal(
        self, session_id: str, terminal_id: str, **kwargs: Any
    ) -> schema.KillTerminalResponse | None:
        """See the protocol."""
        self.terminals.kill(terminal_id)
        return schema.KillTerminalResponse()

    async def release_terminal(
        self, session_id: str, terminal_id: str, **kwargs: Any
    ) -> schema.ReleaseTerminalResponse | None:
        """See the protocol."""
        self.terminals.kill(terminal_id)
        return schema.ReleaseTerminalResponse()


def _called_off() -> schema.RequestPermissionResponse:
    return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))


def _args(call: schema.ToolCallUpdate) -> Any:
    """What it would do: its input, else what it shows of it."""
    if call.raw_input:
        return call.raw_input
    shown = _result(call)
    return shown or ", ".join(one.path for one in call.locations or [])


def _result(call: schema.ToolCallUpdate | schema.ToolCallStart) -> str:
    """The texts and changes of a call."""
    parts: list[str] = []
    for one in call.content or []:
        if isinstance(one, schema.FileEditToolCallContent):
            parts.append(f"{one.path}:\n{one.new_text}")
        elif isinstance(one, schema.ContentToolCallContent) and isinstance(one.content, schema.TextContentBlock):
            parts.append(one.content.text)
    return "\n".join(parts)
