"""What an installed service is: its name, its unit with every word quoted, its property list; and whose file is whose."""

from __future__ import annotations

import plistlib
import re
import shlex
from dataclasses import replace
from typing import Any

import pytest

from horae.app.servicefile import (
    MARK,
    Service,
    launchd_home,
    launchd_label,
    launchd_plist,
    quoted,
    systemd_home,
    systemd_unit,
)

HOME = "/srv/ada/.horae"


def a_service(**changes: Any) -> Service:
    usual = Service(home=HOME, usual=HOME, python="/opt/horae/bin/python", env={"PATH": "/usr/bin"}, drain_s=60.0)
    return replace(usual, **changes)


def keys(text: str) -> dict[str, str]:
    """key → value; fails when one stands there twice, but for Environment."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        if line and line[0] not in "#[":
            key, _, value = line.partition("=")
            assert key not in found or key == "Environment", line
            found[key] = value
    return found


def read_by_systemd(line: str, *, variables: bool) -> list[str]:
    """The words of a line as systemd.service(5) and systemd.syntax(7) read them."""
    assert not re.search(r"(?<!%)(%%)*%(?!%)", line), "a lone % is a specifier"
    words = [word.replace("%%", "%") for word in shlex.split(line.replace("\\n", "\n").replace("\\t", "\t"))]
    if variables:
        assert not any(re.search(r"(?<!\$)(\$\$)*\$(?!\$)", word) for word in words[1:]), "a lone $ is a variable"
        words = [words[0], *(word.replace("$$", "$") for word in words[1:])]
    return words


def test_the_unit_reports_its_life_and_leaves_runs_alone() -> None:
    found = keys(systemd_unit(a_service()))
    assert found["Type"] == "notify"
    assert found["NotifyAccess"] == "main"
    assert int(found["WatchdogSec"]) > 0
    assert found["KillMode"] == "process"
    assert found["Delegate"] == "yes"
    assert found["Restart"] == "on-failure"
    assert found["WantedBy"] == "default.target"
    assert found["ExecStart"] == f"/opt/horae/bin/python -P -m horae --home {HOME} up"
    assert "User" not in found


@pytest.mark.parametrize("drain_s", [0.0, 60.0, 3600.5])
def test_a_stop_may_take_longer_than_runs_are_waited_for(drain_s: float) -> None:
    assert int(keys(systemd_unit(a_service(drain_s=drain_s)))["TimeoutStopSec"]) > drain_s + 5
    assert plistlib.loads(launchd_plist(a_service(drain_s=drain_s)).encode())["ExitTimeOut"] > drain_s + 5


def test_a_service_of_the_machine_works_under_its_owners_name() -> None:
    found = keys(systemd_unit(a_service(system=True, owner="ada")))
    assert found["User"] == "ada"
    assert found["WantedBy"] == "multi-user.target"
    assert "time-sync.target" in found["After"]


@pytest.mark.parametrize(
    "odd",
    ["/srv/a b", "/srv/50%", '/srv/a"b', "/srv/a'b", "/srv/$HOME", "/srv/a\\b", "/srv/a;b", "/srv/ä", "/srv/a\tb"],
)
def test_any_path_is_a_path_and_nothing_else(odd: str) -> None:
    text = systemd_unit(a_service(home=odd, python=f"{odd}/bin/python", env={"PATH": f"{odd}/bin:/usr/bin"}))
    found = keys(text)
    first, *rest = read_by_systemd(found["ExecStart"], variables=True)
    assert first == "/usr/bin/env", "systemd takes no quotes and no $ in the name of a program"
    assert rest == [f"{odd}/bin/python", "-P", "-m", "horae", "--home", odd, "up"]
    assert read_by_systemd(found["Environment"], variables=False) == [f"PATH={odd}/bin:/usr/bin"]
    assert systemd_home(text) == odd
    read_by_systemd(shlex.quote(found["Description"]), variables=False)


def test_a_home_with_a_line_break_adds_no_line() -> None:
    odd = "/srv/a\nExecStartPre=/bin/evil"
    text = systemd_unit(a_service(home=odd, env={"PATH": "/usr/bin\nUser=root"}))
    assert not [line for line in text.splitlines() if line.startswith(("ExecStartPre", "User"))]
    assert systemd_home(text) == odd


def test_only_what_the_service_needs_of_the_environment_is_written_down() -> None:
    env = {
        "PATH": "/usr/bin",
        "TOKEN": "secret",
        "HORAE_STORE": "postgresql://u:secret@h/d",
        "TZ": "",
        "HORAE_HOST": "a",
    }
    for text in (systemd_unit(a_service(env=env)), launchd_plist(a_service(env=env))):
        assert "secret" not in text
        assert "HORAE_HOST" in text
    assert a_service(env=env).kept == {"PATH": "/usr/bin", "HORAE_HOST": "a"}


def test_each_home_has_a_name_of_its_own() -> None:
    homes = ["/srv/a/.horae", "/srv/b/.horae", "/srv/b/My Home!", "/srv/b/ü", "/srv/b/" + "x" * 300]
    names = [a_service(home=home).name for home in homes]
    assert a_service().name == "horae"
    assert len({*names, "horae"}) == len(homes) + 1
    assert all(re.fullmatch(r"horae(-[a-z0-9-]+)?-[0-9a-f]{8}", name) for name in names)
    assert all(len(name) < 60 for name in names)
    assert names[2].startswith("horae-my-home-")
    assert a_service(home=homes[0]).name == names[0]
    assert launchd_label(a_service()) == "horae.gateway"
    assert launchd_label(a_service(home=homes[2])).startswith("horae.gateway.my-home-")


def test_a_file_of_somebody_else_is_not_ours() -> None:
    text = systemd_unit(a_service())
    assert systemd_home(text) == HOME
    assert systemd_home(text.split("\n", 1)[1]) is None
    assert systemd_home(f"# {MARK}\n[Unit]\n") is None
    assert systemd_home(f"# {MARK}\n# home: {{\n") is None
    assert systemd_home("") is None
    plist = launchd_plist(a_service())
    assert launchd_home(plist) == HOME
    assert launchd_home(plist.replace(MARK, "")) is None
    assert launchd_home(f"<!-- {MARK} -->") is None
    assert launchd_home(plist.replace("--home", "--else")) is None


def test_launchd_leaves_the_keepers_of_runs_alone_and_starts_it_again() -> None:
    text = launchd_plist(a_service(home="/srv/a & <b> ü"))
    found = plistlib.loads(text.encode())
    assert found["ProgramArguments"] == ["/opt/horae/bin/python", "-P", "-m", "horae", "--home", "/srv/a & <b> ü", "up"]
    assert (found["AbandonProcessGroup"], found["RunAtLoad"]) == (True, True)
    assert found["KeepAlive"] == {"SuccessfulExit": False}
    assert launchd_home(text) == "/srv/a & <b> ü"


def test_quotes_are_those_of_systemd() -> None:
    assert quoted('a "b" \\ 5%\n') == '"a \\"b\\" \\\\ 5%%\\n"'
