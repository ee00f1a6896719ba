"""All faces can do the same and refuse the same: each use case is in each face, or it is said why not.

What a face does is read off its source: a call of the gate by name, or of the command line's house. So a face can neither
have a use case that nobody knows of, nor lack one in silence.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path

import pytest

from horae.app.usecases import USE_CASES
from horae.app.verbs import DEEDS
from horae.web.pages.frame import DEEDS as DO

SRC = Path(__file__).parents[1] / "src" / "horae"
FACES = {"cli": "cli", "rest": "web/rest", "pages": "web/pages", "mcp": "mcp"}

CLI_LACKS = {
    "jobs": "`horae list` reads the store without loading use cases (decision 0003); its shape is the same",
    "status": "`horae status` asks the gateway itself, so that it can tell one that is stuck",
    "verify": "`horae audit verify` calls it with its progress",
    "agenda": "a picture of past and future; `horae calendar` and `horae runs` show the two halves",
    "trends": "pictures over time; `horae runs --json` has what they are made of",
    "journal": "`horae why` tells the decisions about a job, `horae audit export` hands out all of them",
    "draft": "`horae add` and `horae edit --editor` check before they write",
    "choices": "it fills the lists of a form",
    "propose": "whoever is at the command line makes a job: `horae add --paused` where it is to wait",
    "sign_in": "the command line is its owner's own: there is nobody to sign in",
    "sign_out": "for the same reason nobody signs out there",
}
PAGES_LACK: Mapping[str, str] = {
    "apply": "it takes a folder of the machine where it runs: `horae apply`",
    "awaited": "the page of a run follows it",
    "calendar": "`agenda` has the past too, and the page shows both",
    "edit": "its form sets keys in the text that was read, and puts the whole in its place (`replace`)",
    "make_link": "whoever has a session is in; others are let in on the command line",
    "propose": "a person who may make jobs makes them, and one who may not asks somebody who may",
    "prune": "it is done once a day by itself, and `horae prune` does it at once",
    "rehearse": "the page of a job has its check, with what would be started",
    "use_model": "it may write config.toml: `horae model use` shows the plan first",
}


def parsed(face: str) -> Iterator[ast.AST]:
    """Every piece of a face's source."""
    for path in sorted((SRC / FACES[face]).rglob("*.py")):
        yield from ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def texts(call: ast.Call) -> list[str]:
    """The texts among the arguments by place."""
    return [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]


def asked(face: str) -> set[str]:
    """The use cases that a face asks the gate, or the house, for."""
    found: set[str] = set()
    by_function = {(case.call.__module__, case.call.__name__): name for name, case in USE_CASES.items()}
    for node in parsed(face):
        if not isinstance(node, ast.Call):
            continue
        names = texts(node)
        if isinstance(node.func, ast.Name):  # a part of the face that asks in the name of somebody
            asks = any(isinstance(arg, ast.Name) and arg.id == "who" for arg in node.args)
            found |= set(names) & set(USE_CASES) if asks else set()
            continue
        if not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr in ("do", "once", "call") and names:
            found.add(names[0])
        if node.func.attr in ("view", "use") and len(names) == 2:
            known = by_function.get((f"horae.{names[0]}", names[1]))
            found |= {known} if known else set()
    return found | (set(DO) if face == "pages" else set())


def lacks(face: str) -> Mapping[str, str]:
    """What a face lacks, and why."""
    if face == "cli":
        return CLI_LACKS
    if face == "pages":
        return PAGES_LACK
    return import_module(f"horae.{FACES[face].replace('/', '.')}").LACKS


@pytest.mark.parametrize("face", FACES)
def test_a_face_has_each_use_case_or_says_why_not(face: str) -> None:
    has, lacking = asked(face) & set(USE_CASES), lacks(face)
    missing = sorted(set(USE_CASES) - has - set(lacking))
    assert not missing, f"{face} lacks {missing} without a reason"
    stale = sorted(set(lacking) & has)
    assert not stale, f"{face} has {stale}, and says that it lacks them"
    assert all(len(reason) > 10 for reason in lacking.values()), lacking


@pytest.mark.parametrize("face", FACES)
def test_a_face_asks_for_nothing_that_is_no_use_case(face: str) -> None:
    unknown = asked(face) - set(USE_CASES)
    assert not unknown, f"{face} asks for {sorted(unknown)}"


def test_whatever_changes_something_is_a_use_case_and_the_other_way_round() -> None:
    changes = {name for name, case in USE_CASES.items() if case.changes}
    assert changes == set(DEEDS)


def test_only_people_confirm() -> None:
    assert {name for name, case in USE_CASES.items() if case.confirms} == {"approve", "deny", "resolve", "make_link"}
