"""What waits for a person's word, as a person sees it: whoever says yes has seen all of it."""

from __future__ import annotations

from argparse import Namespace
from types import SimpleNamespace
from typing import Any

import pytest

from horae.cli import asks
from horae.cli.output import Output


def shown(args: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, terminal: bool) -> str:
    ask: dict[str, Any] = {
        "id": "e6e861e3",
        "kind": "call",
        "slug": "tides",
        "decision": None,
        "expires_at": None,
        "body": {"tool": "run", "args": args, "digest": "d1"},
    }
    house = SimpleNamespace(view=lambda *_, **__: {"asks": [ask]})
    monkeypatch.setattr(asks, "open_house", lambda _: house)
    output = Output(json=False)
    output.terminal = terminal
    assert asks.do_waiting(Namespace(home=None, all=False), output) == 0
    return capsys.readouterr().out


def test_a_call_that_no_row_holds_is_shown_to_its_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown(f"echo harmless {'# ' * 2000}\nrm -rf it all\x1b[2K", monkeypatch, capsys, terminal=True)
    assert r"rm -rf it all\x1b[2K" in text
    assert "\x1b[2K" not in text
    assert text.count("e6e861e3") == 2


def test_a_short_one_is_shown_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown("ls", monkeypatch, capsys, terminal=True).count("run ls") == 1


def test_in_a_pipe_there_is_one_line_for_each(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown("echo " * 200, monkeypatch, capsys, terminal=False)
    assert text.count("\n") == 1
    assert "…" in text
