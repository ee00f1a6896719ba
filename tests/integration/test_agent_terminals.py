"""Commands that an ACP agent has run for it: whatever it says of them is for the inside of the sandbox."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from horae.agents import acpterminals
from horae.agents.acpterminals import Terminals
from horae.agents.programs import Ended, run
from horae.agents.tell import Tell
from horae.agents.tools.place import Place
from tests.support.agentrun import a_task

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not on this machine")


def ended(at: Path, argv: list[str], env: dict[str, str] | None = None, cwd: str | None = None) -> Ended:
    place = Place(a_task(None, at, tools=["shell"]), Tell(os.open(os.devnull, os.O_WRONLY)))  # pyright: ignore[reportArgumentType]

    async def through() -> Ended:
        terminals = Terminals(place)
        return await terminals.wait(terminals.begin(argv, env or {}, cwd))

    return asyncio.run(through())


def test_P11_its_environment_is_not_that_of_what_builds_the_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the dynamic linker is told to load there would run outside of every wall."""
    outside: list[dict[str, str]] = []

    async def watched(argv: Any, *, env: Any, **more: Any) -> Ended:
        outside.append(dict(env))
        return await run(argv, env=env, **more)

    monkeypatch.setattr(acpterminals, "run", watched)
    given = {"COLOUR": "red", "LD_PRELOAD": "/nowhere.so", "HOME": "/elsewhere", "-S x": "y"}
    done = ended(tmp_path, ["sh", "-c", "echo $COLOUR $LD_PRELOAD $HOME"], given)
    assert done.out == f"red /nowhere.so {tmp_path}\n"
    assert set(outside[0]) == {"PATH", "HORAE_OUTPUT", "HOME"}


def test_P11_no_path_that_it_names_is_shown_for_that(tmp_path: Path) -> None:
    """The sandbox has an empty /tmp, as it has an empty /run: there are the sockets of whoever starts programs outside."""
    beside = tmp_path / "beside"
    beside.mkdir()
    (beside / "socket").touch()
    assert ended(tmp_path, ["sh", "-c", f"ls {beside}", str(beside)]).out == ""
    assert ended(tmp_path, ["ls"], cwd=str(beside)).code not in (0, None)


def test_its_folder_is_where_it_says_within_what_it_sees(tmp_path: Path) -> None:
    (tmp_path / "output/deep er").mkdir(parents=True)
    assert ended(tmp_path, ["pwd"]).out == f"{tmp_path}/output\n"
    assert ended(tmp_path, ["pwd"], {"A": "1"}, cwd=f"{tmp_path}/output/deep er").out == f"{tmp_path}/output/deep er\n"
