"""The desk: from targets to senders, which are loaded when they are needed and kept."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from horae.clock import SystemClock
from horae.core.delivery import Address, Platform
from horae.errors import Invalid
from horae.ports import Settings, Tools
from horae.ports.command import Said
from horae.wiring import desk as wired
from horae.wiring.desk import Desk, desk_of, tools_of

PAGER = Platform("pager", "command", {"argv": ["true"]}, alone=True)
NOTES = Platform("notes", "file", {"path": "notes.txt"}, alone=True)


def settings(tmp_path: Path, *platforms: Platform, **targets: tuple[str, ...]) -> Settings:
    return Settings(str(tmp_path), platforms={each.name: each for each in platforms}, targets=targets)


def a_desk(tmp_path: Path, *platforms: Platform, **targets: tuple[str, ...]) -> Desk:
    return desk_of(settings(tmp_path, *platforms, **targets), SystemClock())


def test_local_is_always_there(tmp_path: Path) -> None:
    desk = a_desk(tmp_path)
    assert desk.problem("local") is None
    assert desk.problem("origin") is None
    assert (desk.platform(Address("local")).kind, desk.platform(Address("local")).quiet) == ("local", False)


def test_a_platform_has_one_sender(tmp_path: Path) -> None:
    desk = a_desk(tmp_path, NOTES, ops=("notes", "local"))
    assert desk.resolve("ops") == (Address("notes"), Address("local"))
    assert desk.sender(Address("notes")) is desk.sender(Address("notes"))
    assert desk.platform(Address("notes")) is NOTES
    assert desk.address("notes") == Address("notes")
    with pytest.raises(Invalid):
        desk.address("ops")


def test_what_is_in_the_way_is_a_sentence(tmp_path: Path) -> None:
    missing = Platform("pager", "command", {"argv": ["no-such-program-here"]}, alone=True)
    desk = a_desk(tmp_path, missing, NOTES, ops=("notes", "pager"))
    why = desk.problem("pager")
    assert why is not None
    assert "no-such-program-here" in why
    assert desk.problem("ops") == f"pager: {why}"
    assert desk.problem("notez") == "no such target (did you mean notes?)"
    assert desk.problem("origin", "notez") == "no such target: notez (did you mean notes?)"


def test_a_platform_that_is_configured_no_more_is_named(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=r"config\.toml has no \[platforms\.telegram\]"):
        a_desk(tmp_path).sender(Address("telegram", "5"))


def test_a_library_that_is_missing_is_named_with_what_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(f"No module named 'apprise' for {name}", name="apprise.plugins")

    monkeypatch.setattr(wired, "import_module", missing)
    telegram = Platform("telegram", "apprise", {"url": "tgram://x/{chat}"}, home="5")
    why = a_desk(tmp_path, telegram).problem("telegram")
    assert why is not None
    assert why.startswith("telegram:5: telegram needs the library apprise.plugins, which is not installed")
    assert "pip install 'horae[delivery]'" in why


def test_a_module_of_ours_that_is_missing_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(wired.SENDERS, "file", ("senders.nowhere", "Nowhere"))  # type: ignore[arg-type]
    with pytest.raises(ModuleNotFoundError):
        a_desk(tmp_path, NOTES).problem("notes")


def test_the_tools_look_at_secrets_anew(tmp_path: Path) -> None:
    def nothing(*_: object) -> Said:
        return Said(("true",), 0)

    tools: Tools = tools_of(Settings(str(tmp_path), env={"B": "2"}), SystemClock(), nothing)
    assert tools.secrets(["A", "B"])[0] == {"B": "2"}
    (tmp_path / "secrets.toml").touch(mode=0o600)
    (tmp_path / "secrets.toml").write_text('A = "a-secret-value"\n', encoding="utf-8")
    assert tools.secrets(["A", "B"])[0] == {"A": "a-secret-value", "B": "2"}
    assert b"a-secret-value" not in tools.redact(b"it is a-secret-value")
    assert (tools.home, tools.ask) == (str(tmp_path), nothing)


def test_programs_get_the_environment_of_the_gateway(tmp_path: Path) -> None:
    env = {"PATH": "/usr/bin:/bin", "KEPT": "1", "BOTH": "old"}
    told = wired._told(
        Settings(str(tmp_path), env=env), ["sh", "-c", "cat; echo $KEPT $BOTH"], "hi ", {"BOTH": "new"}, 10
    )
    assert (told.code, told.out) == (0, "hi 1 new\n")


def test_a_home_that_uses_local_only_loads_no_library_of_others(tmp_path: Path) -> None:
    look = (
        "import sys; from horae.clock import SystemClock; from horae.ports import Settings;"
        "from horae.wiring.desk import desk_of;"
        f"assert desk_of(Settings({str(tmp_path)!r}), SystemClock()).problem('local') is None;"
        "print(sorted({'apprise', 'httpx2', 'smtplib', 'markdown_it', 'email'} & set(sys.modules)))"
    )
    said = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert said.stdout == "[]\n"
