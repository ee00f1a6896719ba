"""Secrets by their names: where each has its value, who uses it, and keeping or dropping one. No value comes back.

Values are per machine: with a shared database each machine has its own. Nothing here is journaled, and nothing goes through a
gateway: it looks at the file, and asks the keyring, whenever it needs a value.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from typing import Any

from horae.app.jobs import damage_of
from horae.core.definition import from_definition
from horae.core.placeholders import names_in
from horae.core.secretname import refuse_name
from horae.errors import Invalid, NotFound, Problem
from horae.limits import SECRET_BYTES_MAX
from horae.ports import Home

Json = dict[str, Any]
JOBS_MAX = 100_000
PAGE = 1000
WORDS = {"file": "secrets.toml", "environment": "the environment", "keyring": "the keyring"}


def list_secrets(home: Home) -> Json:
    """Each name that is used or kept: where it has a value, the first place counts, and who uses it."""
    used: dict[str, list[Json]] = {}
    for name, what, who in _uses(home):
        row = {"what": what, "name": who}
        if row not in used.setdefault(name, []):
            used[name].append(row)
    places, problems = home.vault().places(used.keys())
    rows = [{"name": name, "places": [*places[name]], "used_by": used.get(name, [])} for name in sorted(places)]
    return {"secrets": rows, "problems": [_sentence(problem) for problem in problems]}


def _uses(home: Home) -> Iterator[tuple[str, str, str]]:
    """Name, what uses it, and the name of that."""
    settings = home.settings
    for provider in settings.agents.providers.values():
        if provider.key is not None:
            yield provider.key, "provider", provider.name
    for agent in settings.agents.named.values():
        yield from ((name, "agent", agent.name) for name in agent.secrets)
    for server in settings.agents.mcp.values():
        yield from ((name, "mcp", server.name) for name in server.secrets)
    for platform in settings.platforms.values():
        yield from ((name, "platform", platform.name) for name in names_in(platform.options))
    for hook in settings.hooks.values():
        yield from ((name, "hook", hook.name) for name in hook.secrets)
    if settings.watched.telemetry is not None:
        yield from ((name, "telemetry", "telemetry") for name in settings.watched.telemetry.headers.values())
    if settings.heartbeat is not None:
        yield from ((name, "heartbeat", "heartbeat") for name in names_in(settings.heartbeat.url))
    yield from _uses_of_jobs(home)


def _uses_of_jobs(home: Home) -> Iterator[tuple[str, str, str]]:
    reader = home.read()
    try:
        cursor: str | None = None
        for _ in range(JOBS_MAX // PAGE):
            page = reader.list_jobs(all=True, state=None, limit=PAGE, cursor=cursor)
            for listed in page["jobs"]:
                try:
                    row = reader.find_job(listed["id"])
                except NotFound:  # removed since
                    continue
                if row["definition"] and damage_of(row) is None:
                    job = from_definition(json.loads(row["definition"]))
                    yield from ((name, "job", job.slug) for name in job.secrets)
            cursor = page["cursor"]
            if cursor is None:
                return
    finally:
        reader.close()


def set_secret(home: Home, *, secret: str, value: str, keyring: bool = False) -> Json:
    """Keep a value. The answer says where, and what else has one for this name."""
    name = secret
    refuse_name(name)
    if not value:
        raise Invalid(f"the value of {name} is empty", f"`horae secrets unset {name}` takes a value away", name=name)
    if "\0" in value:
        raise Invalid(f"the value of {name} contains a NUL character", "no program could be given it", name=name)
    if len(value.encode("utf-8", "surrogatepass")) > SECRET_BYTES_MAX:
        hint = "keep large secrets in files, and let the secret be the name of one"
        raise Invalid(f"the value of {name} has more than {SECRET_BYTES_MAX // 1024} KiB", hint, name=name)
    vault = home.vault()
    before = vault.put(name, value, keyring=keyring)
    place = "keyring" if keyring else "file"
    found, problems = vault.places((name,))
    there = found.get(name, ())
    did = f"set {name} in {WORDS[place]}"
    if keyring and before:
        did += ", and took it out of secrets.toml"
    warnings = [_sentence(problem) for problem in problems]
    if there and there[0] != place:
        warnings.append(f"{WORDS[there[0]]} has a value for {name} too, and that one counts")
    warnings += [
        f"{WORDS[other]} has a value for {name} too: it counts no more" for other in there[1:] if other != place
    ]
    return {"name": name, "place": place, "places": [*there], "did": did, "undo": None, "warnings": warnings}


def unset_secret(home: Home, *, secret: str) -> Json:
    """Take a value away. Raises NotFound, with the nearest names."""
    name = secret
    refuse_name(name)
    vault = home.vault()
    gone = vault.remove(name)
    found, problems = vault.places(())
    if not gone:
        if name in home.settings.env:
            says = f"{name} has its value from the environment, and nothing of it is kept here"
            raise NotFound(says, "take it out of where the environment is made", name=name)
        near = difflib.get_close_matches(name, found, 3)
        hint = f"did you mean {' or '.join(near)}?" if near else "`horae secrets` lists those that have one"
        raise NotFound(f"no value of {name} is kept here", hint, name=name)
    users = [f"{what} {who}" for used, what, who in _uses(home) if used == name]
    warnings = [_sentence(problem) for problem in problems]
    if users and name not in home.settings.env:
        more = f" and {len(users) - 5} more" if len(users) > 5 else ""
        warnings.append(f"it is used by {', '.join(users[:5])}{more}: what needs it is blocked from now on")
    did = f"took {name} out of {' and '.join(WORDS[place] for place in gone)}"
    return {"name": name, "places": [*gone], "did": did, "undo": None, "warnings": warnings}


def _sentence(problem: Problem) -> str:
    return f"{problem.message} ({problem.hint})" if problem.hint else problem.message
