"""Homes whose results go somewhere: settings of platforms, jobs, and what became of their messages."""

from __future__ import annotations

import email
import email.policy
import json
from pathlib import Path
from typing import Any

from standardwebhooks import Webhook as Verifier

from tests.support.process import TestHome, new_home, until
from tests.support.receivers import HttpServer, MailServer, Request, says

KEY = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
TOKEN = "tr0ub4dor-and-3-horses"
OK = says("200 OK")
ON_ITS_WAY = ("pending", "sending")


def post_home(path: Path) -> TestHome:
    """One whose commands are run by this process, with secrets, and with scripts that say something and count their runs."""
    made = new_home(path)
    made.inside = True
    (made.path / "secrets.toml").write_text(f'HOOK = "{KEY}"\nTOKEN = "{TOKEN}"\n')
    (made.path / "secrets.toml").chmod(0o600)
    made.script("count.sh", 'echo x >> "$HORAE_HOME/ran"\necho "High water at 06:12"\n')
    made.script("fail.sh", 'if [ -e "$HORAE_HOME/bad" ]; then echo "no route" >&2; exit 3; fi; echo fine\n')
    return made


def hook(server: HttpServer, name: str = "hook", timeout: str = "5s") -> str:
    """A webhook to that server."""
    return (
        f'[platforms.{name}]\nkind = "webhook"\nurl = "{server.url}/{name}"\nsecret = "{{HOOK}}"\n'
        f'allow_private = true\ntimeout = "{timeout}"\n'
    )


def file(name: str) -> str:
    """A file in the home."""
    return f'[platforms.{name}]\nkind = "file"\npath = "{name}.txt"\n'


def command(name: str, line: str) -> str:
    """A line for a shell, which has the home as `$HORAE_HOME`."""
    return f'[platforms.{name}]\nkind = "command"\nargv = ["sh", "-c", {json.dumps(line)}]\ntimeout = "60s"\n'


def job(home: TestHome, slug: str, script: str, *deliver: str, **keys: object) -> None:
    """A job that runs when it is asked to."""
    home.write(slug, schedule="2099-01-01T09:00", script=script, deliver=f"[{', '.join(deliver)}]", **keys)


def run(home: TestHome, slug: str) -> str:
    """Run it to its end; the run's id."""
    return str(home.json("run", slug, "--wait", status=None)["run"]["id"])


def deliveries(home: TestHome, run_id: str) -> dict[str, dict[str, Any]]:
    """Of each target the last delivery of a run."""
    found = next(one for one in home.runs() if one["id"] == run_id)
    return {one["target"]: one for one in found["deliveries"]}


def through(home: TestHome, run_id: str) -> dict[str, dict[str, Any]]:
    """The same, once nothing of it is on its way."""

    def look() -> dict[str, dict[str, Any]] | None:
        found = deliveries(home, run_id)
        return None if any(one["state"] in ON_ITS_WAY for one in found.values()) else found

    return until(look, f"all messages of {run_id} are through")


def states(found: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {target: one["state"] for target, one in found.items()}


def entries(home: TestHome, name: str) -> list[str]:
    """What stands in a file that messages go to, each without the line that it begins with."""
    path = home.path / f"{name}.txt"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return [entry.partition("\n")[2] for entry in f"\n{text}".split("\n# ")[1:]]


def letter(server: MailServer) -> Any:
    """The last mail that arrived."""
    content = server.got[-1].content
    assert isinstance(content, bytes)
    return email.message_from_bytes(content, policy=email.policy.default)


def said(request: Request, name: str = "hook") -> dict[str, Any]:
    """What a webhook says, once it is proved to be ours."""
    assert request.path == f"/{name}"
    whole = Verifier(KEY).verify(request.body, request.headers)
    return dict(whole["data"])
