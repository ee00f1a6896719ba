"""Agents that are programs, through the whole of Horae: settings, a real gateway, its shims and walls, and a provider."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.support.acpagent import acting, seen
from tests.support.modelserver import ModelServer, say
from tests.support.process import TestHome, running, until

KEY = "a-key-of-a-provider-1234567890"
COMMAND = """
import json, os, sys, urllib.request

INSIDE = True
body = {"model": "dear", "messages": [{"role": "user", "content": sys.stdin.read()}]}
head = {"x-api-key": os.environ["KEY"], "Content-Type": "application/json"}
call = urllib.request.Request(os.environ["BASE"] + "/chat/completions", json.dumps(body).encode(), head)
with urllib.request.urlopen(call) as said:
    print(json.load(said)["choices"][0]["message"]["content"])
above = f"/proc/{os.getppid()}"
try:
    with open(above + "/maps") as maps, open(above + "/mem", "rb") as memory:
        memory.seek(int(maps.readline().split("-")[0], 16))
        print("it can be looked into", len(memory.read(1)))
except OSError:
    pass
"""


def settled(home: TestHome, server: ModelServer, *agents: tuple[str, str, dict[str, Any]]) -> None:
    """Settings with these agents: each a name, a kind, and the `agent` of a task."""
    text = f"""model = "small"
landlock = "on"
[providers.local]
kind = "openai"
base_url = "{server.base_url}"
key = "LOCAL_KEY"
[models.small]
provider = "local"
id = "acme/small-1"
input = 1.0
output = 2.0
"""
    for name, kind, agent in agents:
        env = ", ".join(f"{key} = {json.dumps(value)}" for key, value in agent["env"].items())
        text += f'[agents.{name}]\nkind = "{kind}"\ncommand = {json.dumps(agent["command"])}\nenv = {{{env}}}\n'
    home.config(text)
    secrets = home.path / "secrets.toml"
    secrets.write_text(f'LOCAL_KEY = "{KEY}"\n')
    secrets.chmod(0o600)


def done(home: TestHome, slug: str, **keys: object) -> dict[str, Any]:
    lines = "".join(f"{key}: {value}\n" for key, value in {"schedule": "on demand", **keys}.items())
    home.file(slug).write_text(f"---\n{lines}---\nReport the tides.\n", encoding="utf-8")
    until(lambda: slug in home.jobs(), "the job is known")
    return home.json("run", slug, "--wait", status=None)


def test_each_kind_answers_and_is_counted_and_none_sees_the_key(home: TestHome, tmp_path: Path) -> None:
    folder = tmp_path / "agent"
    folder.mkdir()
    actor = acting(folder, [["ask", "1", "execute", "rm", {"command": "rm"}], ["model"]])
    tool = {"command": [sys.executable, "-c", COMMAND], "env": {"BASE": "{base_url}", "KEY": "{key}"}}
    with ModelServer(lambda asked: say("High water at six.", usage=(120, 7, 0))) as server:
        settled(home, server, ("actor", "acp", actor), ("tool", "command", tool))
        with running(home):
            for slug, agent in (("tides", "actor"), ("waves", "tool")):
                log = done(home, slug, agent=agent)
                run, message = log["run"], log["message"].strip()
                assert (run["state"], run["outcome"], message) == ("completed", "ran", "High water at six."), log
                assert (run["model"], run["turns"], run["tokens_in"], run["tokens_out"]) == ("small", 1, 120, 7)
                assert run["cost_usd"] == (120 * 1.0 + 7 * 2.0) / 1e6
                assert KEY not in json.dumps(log)
                denied = [event["why"] for event in log["activity"] if event["kind"] == "denied"]
                assert denied == (["the job was not granted shell"] if agent == "actor" else [])
    assert {asked.headers["authorization"] for asked in server.calls} == {f"Bearer {KEY}"}
    [start] = seen(folder, "start")
    assert KEY not in json.dumps(start)
    assert start["cwd"] == seen(folder, "session")[0]["cwd"]
