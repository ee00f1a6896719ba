"""Skills: which there are, what they hold, who uses them; taking one in, and taking one away.

Skills are files of one machine, like scripts: nothing here is journaled, and nothing goes through a gateway, which reads them
before each run. What is taken in is looked through first, and what refuses a run refuses it; the rest is shown, and a person
confirms. What is copied is what was shown.
"""

from __future__ import annotations

import json
import os
from typing import Any

from horae.app.jobs import damage_of
from horae.core.definition import from_definition
from horae.core.guard import Finding, refusal, warning_words
from horae.core.skill import Kept
from horae.errors import NotFound, Problem, Refused
from horae.ports import Home

Json = dict[str, Any]
JOBS_MAX = 100_000
PAGE = 1000
SHOWN_MAX = 5


def list_skills(home: Home) -> Json:
    """Every skill with who uses it, and those that jobs name and that are not there."""
    shelf, used = home.shelf(), _used(home)
    names = shelf.names()
    rows = [_row(home, name, used.get(name, [])) for name in names]
    absent = [{"name": name, "used_by": users} for name, users in sorted(used.items()) if name not in names]
    return {"folder": shelf.root, "skills": rows, "absent": absent}


def show_skill(home: Home, *, skill: str) -> Json:
    """One skill: what it says of itself, its files, and what the guards find. Raises NotFound, Invalid, Refused."""
    kept = home.shelf().load(skill)
    return {"skill": _whole(kept), "used_by": _used(home).get(skill, [])}


def check_skills(home: Home, *, skill: str | None = None) -> Json:
    """Whether skills could be used: read, looked through, and what they need of this machine."""
    used = _used(home)
    names = home.shelf().names() if skill is None else [skill]
    if skill is not None:
        _there(home, skill)
    rows = [_row(home, each, used.get(each, [])) for each in names]
    if skill is None:
        rows += [_row(home, each, users) for each, users in sorted(used.items()) if each not in names]
    return {"ok": all(not row["problems"] for row in rows), "skills": rows}


def add_skill(
    home: Home, *, folder: str, called: str | None = None, replace: bool = False, confirm: bool = False
) -> Json:
    """Look through a folder, and take it in once that is confirmed. Raises NotFound, Invalid, Refused, Conflict, Trouble."""
    shelf = home.shelf()
    kept = shelf.look(folder, called)
    refused = [warning_words(item, file) for file, item in kept.found if item.severity == "refuse"]
    if refused:
        more = f" (and {len(refused) - 1} more)" if len(refused) > 1 else ""
        raise Refused(f"{folder} was not taken: {refused[0]}{more}", "edit it, then add it again", found=refused)
    there = kept.name in shelf.names()
    users = _used(home).get(kept.name, []) if there else []
    if confirm or (there and not replace):
        shelf.put(kept, replace=replace)
    what = f"skill {kept.name} ({_count(len(kept.files), 'file')}, sha256 {kept.sha256[:12]})"
    did = (
        f"{'replaced' if there else 'added'} {what}"
        if confirm
        else f"would {'replace' if there else 'add'} {what}: nothing was changed"
    )
    warnings = [warning_words(item, file) for file, item in kept.found]
    warnings += [f"it needs the program {program}, which is not on this machine" for program in _missing(home, kept)]
    warnings += [f"it is used by {_listed(users)}"] if users else []
    warnings += [] if confirm else ["look at it, then give the command again with --confirm"]
    return {
        "skill": _whole(kept),
        "confirmed": confirm,
        "replaced": there,
        "did": did,
        "undo": None,
        "warnings": warnings,
    }


def remove_skill(home: Home, *, skill: str, force: bool = False) -> Json:
    """Take one away. Raises NotFound; Refused while jobs use it."""
    name = skill
    _there(home, name)
    users = _used(home).get(name, [])
    if users and not force:
        raise Refused(
            f"skill {name} is used by {_listed(users)}",
            "`--force` removes it: those jobs are blocked then",
            used_by=users,
        )
    home.shelf().remove(name)
    warnings = [f"{_listed(users)} cannot run without it"] if users else []
    return {"name": name, "used_by": users, "did": f"removed skill {name}", "undo": None, "warnings": warnings}


def _there(home: Home, name: str) -> None:
    """Raises NotFound where nothing has that name; whatever else is wrong with it is none of our business here."""
    if name not in home.shelf().names():
        home.shelf().load(name)


def _row(home: Home, name: str, users: list[str]) -> Json:
    row: Json = {"name": name, "description": None, "sha256": None, "files": 0, "bytes": 0, "used_by": users}
    try:
        kept = home.shelf().load(name)
    except Problem as problem:
        says = f"{problem.message} ({problem.hint})" if problem.hint else problem.message
        return {**row, "problems": [says], "warnings": []}
    problems = [_words(kept, file, item) for file, item in kept.found if item.severity == "refuse"]
    problems += [f"it needs the program {program}, which is not on this machine" for program in _missing(home, kept)]
    return {
        **row,
        "description": kept.skill.description,
        "sha256": kept.sha256,
        "files": len(kept.files),
        "bytes": sum(size for _, size in kept.files),
        "problems": problems,
        "warnings": [warning_words(item, file) for file, item in kept.found if item.severity == "warn"],
    }


def _whole(kept: Kept) -> Json:
    needs = kept.skill.needs
    return {
        "name": kept.name,
        "description": kept.skill.description,
        "folder": kept.folder,
        "sha256": kept.sha256,
        "needs": {key: [*getattr(needs, key)] for key in ("env", "commands", "tools", "secrets", "wishes")},
        "files": [{"path": path, "bytes": size} for path, size in kept.files],
        "found": [
            {"file": file, "line": item.line, "family": item.family, "severity": item.severity, "words": item.found}
            for file, item in kept.found
        ],
        "text": kept.skill.body,
    }


def _words(kept: Kept, file: str, item: Finding) -> str:
    return refusal(item, f"{file}, line {item.line}", f"edit {os.path.join(kept.folder, file)}")


def _missing(home: Home, kept: Kept) -> tuple[str, ...]:
    return home.shelf().missing(kept, home.settings.env.get("PATH", os.defpath))


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _listed(users: list[str]) -> str:
    more = f" and {len(users) - SHOWN_MAX} more" if len(users) > SHOWN_MAX else ""
    return f"{'job' if len(users) == 1 else 'jobs'} {', '.join(users[:SHOWN_MAX])}{more}"


def _used(home: Home) -> dict[str, list[str]]:
    """By skill: the jobs that name it."""
    found: dict[str, list[str]] = {}
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
                    for name in dict.fromkeys(job.skills):
                        found.setdefault(name, []).append(job.slug)
            cursor = page["cursor"]
            if cursor is None:
                break
    finally:
        reader.close()
    return found
