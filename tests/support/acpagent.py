"""An agent that speaks the Agent Client Protocol and does what a test wrote down. It is a program: see `acting`.

Its script is a list of steps. What it saw goes into a file, one JSON object a line, which `seen` reads.

    say TEXT            a piece of a message             think TEXT
    call ID KIND TITLE INPUT                             it says that it calls a tool, status pending
    begin ID / done ID / fail ID                         how that call goes
    ask ID KIND TITLE INPUT                              permission; what was answered is seen as `asked`
    read PATH / write PATH TEXT / run COMMAND            of its client
    question TEXT                                        to a person
    model [TEXT]                                         a call of its model; what came is seen as `model`, its text is said
    stop REASON         the turn ends so                 exit STATUS / hang
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import acp
from acp import schema

MODES = ("deaf", "garbage", "gone", "old", "auth", "loads")
ROOT = str(Path(__file__).parents[2])


def acting(folder: Path, steps: list[list[Any]], *, mode: str = "", options: list[str] | None = None) -> dict[str, Any]:
    """The `agent` of a task."""
    script = folder / "script.json"
    script.write_text(json.dumps({"steps": steps, "mode": mode, "options": options}))
    env = {
        "SCRIPT": str(script),
        "SEEN": str(folder / "seen"),
        "BASE": "{base_url}",
        "KEY": "{key}",
        "MODEL": "{model}",
    }
    return {
        "name": "actor",
        "command": [sys.executable, __file__],
        "env": {**env, "PYTHONPATH": ROOT},
        "api": "openai",
        "metered": True,
    }


def seen(folder: Path, what: str) -> list[Any]:
    """What it saw of this kind."""
    path = folder / "seen"
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return [value for kind, value in lines if kind == what]


def _note(kind: str, value: Any) -> None:
    with open(os.environ["SEEN"], "a", encoding="utf-8") as file:
        file.write(json.dumps([kind, value]) + "\n")


def _before_it_speaks(mode: str) -> None:
    if mode == "gone":
        sys.stderr.write("no module named brain\n")
        sys.exit(3)
    if mode == "garbage":
        sys.stdout.write("what do you want?\n" * 200)
        sys.stdout.flush()
        sys.stdin.read()
        sys.exit(0)


def _play() -> None:
    script = json.loads(Path(os.environ["SCRIPT"]).read_text())
    mode, steps = script["mode"], iter(script["steps"])
    _note("start", {"env": dict(os.environ), "argv": sys.argv, "cwd": os.getcwd()})
    _before_it_speaks(mode)

    def model(text: str) -> tuple[int, Any]:
        body = {"model": "dear-model", "messages": [{"role": "user", "content": text}], "max_tokens": 900}
        request = urllib.request.Request(
            os.environ["BASE"] + "/chat/completions",
            json.dumps(body).encode(),
            {"Authorization": f"Bearer {os.environ['KEY']}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    class Actor:
        def on_connect(self, conn: Any) -> None:
            self.client = conn
            self.called_off = asyncio.Event()

        async def initialize(self, protocol_version: int, client_capabilities: Any = None, **_: Any) -> Any:
            _note("client", client_capabilities.model_dump(mode="json", by_alias=True, exclude_none=True))
            if mode == "deaf":
                await asyncio.Event().wait()
            return acp.InitializeResponse(
                protocol_version=99 if mode == "old" else protocol_version,
                agent_capabilities=schema.AgentCapabilities(load_session=mode == "loads"),
                auth_methods=[schema.AuthMethodAgent(id="login", name="Log in by hand")] if mode == "auth" else [],
            )

        async def new_session(self, cwd: str, mcp_servers: Any = None, **_: Any) -> Any:
            _note("session", {"cwd": cwd, "mcp": [one.name for one in mcp_servers or []]})
            if mode == "auth":
                raise acp.RequestError.auth_required()
            choice = schema.SessionConfigOptionSelect(
                id="model",
                name="Model",
                category="model",
                type="select",
                current_value="big",
                options=[
                    schema.SessionConfigSelectOption(value=one, name=one) for one in ("big", "local/acme/small-1")
                ],
            )
            return acp.NewSessionResponse(session_id="s-1", config_options=[choice])

        async def load_session(self, session_id: str, **_: Any) -> Any:
            _note("loaded", session_id)
            await self.say("something said long ago")
            return acp.LoadSessionResponse()

        async def set_config_option(self, config_id: str, session_id: str, value: Any, **_: Any) -> Any:
            _note("choice", [config_id, value])
            return schema.SetSessionConfigOptionResponse(config_options=[])

        async def cancel(self, session_id: str, **_: Any) -> None:
            _note("cancel", session_id)
            self.called_off.set()

        async def prompt(self, prompt: list[Any], **_: Any) -> Any:
            _note("prompt", "".join(block.text for block in prompt))
            playing = asyncio.ensure_future(self.play())
            off = asyncio.ensure_future(self.called_off.wait())
            await asyncio.wait({playing, off}, return_when=asyncio.FIRST_COMPLETED)
            if playing.done():
                return acp.PromptResponse(stop_reason=playing.result())
            playing.cancel()
            return acp.PromptResponse(stop_reason="cancelled")

        async def play(self) -> Any:
            for name, *given in steps:
                if name == "stop":
                    return given[0]
                await getattr(self, name)(*given)
            return "end_turn"

        async def update(self, update: Any) -> None:
            await self.client.session_update(session_id="s-1", update=update)

        async def say(self, text: str) -> None:
            await self.update(acp.update_agent_message_text(text))

        async def think(self, text: str) -> None:
            await self.update(acp.update_agent_thought_text(text))

        async def call(self, id: str, kind: Any, title: str, input: Any = None) -> None:
            await self.update(acp.start_tool_call(id, title, kind=kind, status="pending", raw_input=input))

        async def begin(self, id: str) -> None:
            await self.update(acp.update_tool_call(id, status="in_progress"))

        async def done(self, id: str) -> None:
            shown = [acp.tool_content(acp.text_block("it went well"))]
            await self.update(acp.update_tool_call(id, status="completed", content=shown))

        async def fail(self, id: str) -> None:
            await self.update(acp.update_tool_call(id, status="failed"))

        async def ask(self, id: str, kind: Any, title: str, input: Any = None) -> None:
            kinds: Any = script["options"] or ["allow_always", "allow_once", "reject_always", "reject_once"]
            answer = await self.client.request_permission(
                session_id="s-1",
                tool_call=acp.update_tool_call(id, title=title, kind=kind, status="pending", raw_input=input),
                options=[acp.schema.PermissionOption(option_id=f"o-{one}", name=one, kind=one) for one in kinds],
            )
            _note("asked", getattr(answer.outcome, "option_id", answer.outcome.outcome))

        async def read(self, path: str) -> None:
            try:
                _note("read", (await self.client.read_text_file(path=path, session_id="s-1")).content)
            except acp.RequestError as error:
                _note("error", f"{error} {error.data}")

        async def write(self, path: str, text: str) -> None:
            try:
                await self.client.write_text_file(path=path, content=text, session_id="s-1")
            except acp.RequestError as error:
                _note("error", f"{error} {error.data}")

        async def run(self, command: str) -> None:
            try:
                made = await self.client.create_terminal(command=command, session_id="s-1")
            except acp.RequestError as error:
                _note("error", f"{error} {error.data}")
                return
            ended = await self.client.wait_for_terminal_exit(session_id="s-1", terminal_id=made.terminal_id)
            told = await self.client.terminal_output(session_id="s-1", terminal_id=made.terminal_id)
            await self.client.release_terminal(session_id="s-1", terminal_id=made.terminal_id)
            _note("ran", [ended.exit_code, told.output])

        async def question(self, text: str) -> None:
            mode = schema.ElicitationFormSessionMode(
                session_id="s-1", requested_schema=schema.ElicitationSchema(type="object", properties={})
            )
            _note("answered", (await self.client.create_elicitation(message=text, mode=mode)).action)

        async def model(self, text: str = "think") -> None:
            status, answer = await asyncio.to_thread(model, text)
            _note("model", [status, answer])
            if status == 200:
                await self.say(answer["choices"][0]["message"]["content"] or "")

        async def exit(self, status: int) -> None:
            sys.stderr.write("out of memory\n")
            sys.stderr.flush()
            os._exit(status)

        async def hang(self) -> None:
            _note("hangs", True)
            await asyncio.Event().wait()

    actor: Any = Actor()
    asyncio.run(acp.run_agent(actor, use_unstable_protocol=True))


if __name__ == "__main__":
    _play()
