"""`horae service` with a systemd and a launchd that only remember what they were told: there is no real one to be had here."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from horae.app.servicefile import MARK
from horae.errors import Problem, Refused
from horae.wiring import open_house
from horae.wiring.keeping import keep
from tests.support.process import TestHome, new_home, start
from tests.support.standin import StandIns, a_systemd

KEYS = (
    "did", "dry", "changed", "manager", "scope", "unit", "file", "home", "installed", "enabled", "active", "running",
    "pid", "linger", "text", "steps", "problems", "notes",
)  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> TestHome:
    """The usual home of somebody, and nothing around it but the stand-ins."""
    made = new_home(tmp_path / "ann" / ".horae")
    made.inside = True
    made.env = {"HOME": str(tmp_path / "ann"), "XDG_RUNTIME_DIR": str(tmp_path / "runtime"), "XDG_CONFIG_HOME": ""}
    return made


@pytest.fixture
def systemd(home: TestHome, tmp_path: Path) -> StandIns:
    made = a_systemd(tmp_path / "bin", tmp_path / "ann" / ".config" / "systemd" / "user")
    home.env["PATH"] = made.path
    return made


def unit_of(home: TestHome, name: str = "horae.service") -> Path:
    return home.path.parent / ".config" / "systemd" / "user" / name


def changing(made: StandIns) -> list[str]:
    """What was asked for that changes something."""
    looks = ("is-system-running", "show")
    return [" ".join(call[1:]) for call in made.calls("systemctl") if not set(looks) & set(call)]


def test_install_writes_the_unit_and_has_it_started(home: TestHome, systemd: StandIns) -> None:
    answer = home.json("service", "install")
    assert tuple(answer) == KEYS
    text = unit_of(home).read_text()
    assert text.startswith(f"# {MARK}")
    assert f"--home {home.path} up" in text
    assert f"PATH={systemd.path}" in text
    assert changing(systemd) == ["--user daemon-reload", "--user enable --now horae.service"]
    assert answer["steps"] == ["systemctl " + step for step in changing(systemd)]
    assert (answer["did"], answer["installed"], answer["enabled"], answer["running"]) == ("installed", True, True, True)
    assert (answer["pid"], answer["linger"], answer["problems"], answer["notes"]) == (4242, True, [], [])
    assert answer["file"] == str(unit_of(home))
    assert [path.name for path in unit_of(home).parent.iterdir()] == ["horae.service"], "nothing half written is left"


def test_installed_twice_is_installed_once(home: TestHome, systemd: StandIns) -> None:
    home.json("service", "install")
    before = unit_of(home).stat()
    systemd.forget()
    answer = home.json("service", "install")
    assert (answer["did"], answer["changed"]) == ("was installed already", False)
    assert changing(systemd) == ["--user enable --now horae.service"]
    assert unit_of(home).stat() == before


def test_a_unit_that_is_out_of_date_is_written_again_and_the_gateway_started_anew(
    home: TestHome, systemd: StandIns
) -> None:
    home.json("service", "install")
    home.config('drain = "10m"\n')
    status = home.json("service", "status")
    assert "not what would be written today" in status["notes"][0]
    systemd.forget()
    answer = home.json("service", "install")
    assert answer["did"] == "updated"
    assert "TimeoutStopSec=630" in unit_of(home).read_text()
    assert changing(systemd) == [
        "--user daemon-reload", "--user enable --now horae.service", "--user restart horae.service",
    ]  # fmt: skip
    assert home.json("service", "status", PATH=f"{systemd.path}:/else")["notes"] == [], "another shell is no reason"
    unit_of(home).write_text(unit_of(home).read_text() + "\n")
    assert len(home.json("service", "status")["notes"]) == 2, "its keeper knows an older text, too"


def test_uninstall_takes_it_away_and_then_there_is_nothing_to_do(home: TestHome, systemd: StandIns) -> None:
    home.json("service", "install")
    systemd.forget()
    answer = home.json("service", "uninstall")
    assert (answer["did"], answer["installed"], answer["running"], answer["problems"]) == (
        "uninstalled",
        False,
        False,
        [],
    )
    assert changing(systemd) == ["--user disable --now horae.service", "--user daemon-reload"]
    assert not unit_of(home).exists()
    systemd.forget()
    again = home.json("service", "uninstall")
    assert (again["did"], again["changed"], again["steps"]) == ("was not installed", False, [])
    assert changing(systemd) == []


def test_status_says_what_is_wrong(home: TestHome, systemd: StandIns) -> None:
    answer = home.json("service", "status", status=1)
    assert tuple(answer) == KEYS
    assert answer["problems"] == ["it is not installed: `horae service install`"]
    home.json("service", "install")
    assert home.json("service", "status")["problems"] == []
    (systemd.folder / "active-horae.service").unlink()
    (systemd.folder / "enabled-horae.service").unlink()
    answer = home.json("service", "status", status=1)
    assert (answer["enabled"], answer["active"], answer["pid"]) == (False, "inactive", None)
    assert len(answer["problems"]) == 2
    assert "journalctl --user -u horae.service" in answer["problems"][1]
    assert "journalctl" in home.horae("service", "status", status=1).out


def test_who_does_not_linger_is_told_how_to(home: TestHome, systemd: StandIns) -> None:
    (systemd.folder / "linger").write_text("no\n")
    answer = home.json("service", "install")
    assert answer["linger"] is False
    assert any("loginctl enable-linger" in note for note in answer["notes"])
    assert "loginctl enable-linger" in home.horae("service", "status").err
    assert not [call for call in systemd.calls("loginctl") if "enable-linger" in call], "it is not switched on unasked"


@pytest.mark.parametrize("verb", ["daemon-reload", "enable"])
def test_a_step_that_fails_is_named_and_can_be_undone(home: TestHome, systemd: StandIns, verb: str) -> None:
    refusal = systemd.folder / f"fail-{verb}"
    refusal.write_text("Job for horae.service failed\nbecause of this.\n")
    error = home.error("service", "install", status=1)
    assert error["code"] == "trouble"
    assert f"systemctl --user {verb}" in error["message"]
    assert "Job for horae.service failed because of this." in error["message"]
    assert "journalctl --user -u horae.service" in error["hint"]
    assert str(unit_of(home)) in error["hint"]
    refusal.unlink()
    assert home.json("service", "install")["running"] is True
    assert home.json("service", "uninstall")["did"] == "uninstalled"


@pytest.mark.parametrize("words", [("install",), ("uninstall",)])
def test_a_file_of_somebody_else_is_left_alone(home: TestHome, systemd: StandIns, words: tuple[str, ...]) -> None:
    unit_of(home).parent.mkdir(parents=True)
    unit_of(home).write_text("[Service]\nExecStart=/bin/mine\n")
    error = home.error("service", *words, status=4)
    assert str(unit_of(home)) in error["message"]
    assert unit_of(home).read_text() == "[Service]\nExecStart=/bin/mine\n"
    unit_of(home).unlink()
    unit_of(home).symlink_to("/dev/null")  # masked
    assert home.error("service", *words, status=4)["code"] == "refused"
    assert unit_of(home).is_symlink()
    assert changing(systemd) == []


def test_the_service_of_another_home_is_left_alone(home: TestHome, systemd: StandIns, tmp_path: Path) -> None:
    home.json("service", "install")
    text = unit_of(home).read_text().replace(str(home.path), "/srv/else")
    unit_of(home).write_text(text)
    error = home.error("service", "install", status=4)
    assert "/srv/else" in error["message"]
    assert "horae --home /srv/else service uninstall" in error["hint"]
    other = new_home(tmp_path / "ann" / "Other Home")
    other.inside, other.env = True, home.env
    answer = other.json("service", "install")
    assert answer["unit"].startswith("horae-other-home-")
    assert unit_of(home, answer["unit"]).exists()
    assert unit_of(home).read_text() == text


@pytest.mark.parametrize("state", ["offline", "unknown", ""])
def test_without_a_manager_it_says_what_to_do_instead(home: TestHome, systemd: StandIns, state: str) -> None:
    (systemd.folder / "manager").write_text(state)
    for words in ("install", "uninstall", "status"):
        error = home.error("service", words, status=4)
        assert "systemd has no manager for" in error["message"]
        assert "horae up" in error["hint"]
        assert "--dry" in error["hint"]
    assert not unit_of(home).exists()


def test_a_manager_in_trouble_is_one_all_the_same(home: TestHome, systemd: StandIns) -> None:
    (systemd.folder / "manager").write_text("degraded\n")
    assert home.json("service", "install")["running"] is True


def test_a_bus_that_cannot_be_reached_is_told_in_its_words(home: TestHome, systemd: StandIns) -> None:
    (systemd.folder / "fail-is-system-running").write_text("Failed to connect to bus: No medium found\n")
    error = home.error("service", "install", status=4)
    assert "No medium found" in error["message"]


def test_a_machine_without_systemctl(home: TestHome, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    error = home.error("service", "install", status=4, PATH=str(tmp_path / "empty"))
    assert "systemctl is not on this machine" in error["message"]


def test_dry_writes_nothing_and_needs_no_systemd(home: TestHome, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    answer = home.json("service", "install", "--dry", PATH=str(tmp_path / "empty"))
    assert tuple(answer) == KEYS
    assert "ExecStart=" in answer["text"]
    assert answer["steps"] == ["systemctl --user daemon-reload", "systemctl --user enable --now horae.service"]
    said = home.horae("service", "install", "--dry", PATH=str(tmp_path / "empty")).out
    assert said.startswith(f"# {answer['file']}\n{answer['text']}")
    assert "$ systemctl --user enable --now horae.service" in said
    assert not unit_of(home).exists()
    went = home.json("service", "uninstall", "--dry", PATH=str(tmp_path / "empty"))
    assert went["steps"][1] == f"rm {unit_of(home)}"
    assert home.error("service", "status", "--dry", status=2)["code"] == "usage"


def test_what_is_printed_is_a_unit_that_systemd_reads(home: TestHome, tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("needs systemd's programs")
    odd = new_home(tmp_path / "ann" / 'od d"50%$x')
    odd.inside, odd.env = True, home.env
    answer = odd.json("service", "install", "--system", "--dry", PATH="/usr/bin:/bin", LANG="a b%h$c")
    file = tmp_path / answer["unit"]
    file.write_text(answer["text"])
    done = subprocess.run([analyze, "verify", str(file)], capture_output=True, text=True, timeout=30, check=False)
    assert answer["unit"] not in done.stderr, done.stderr
    file.write_text(answer["text"].replace("KillMode=process", "KillMode=often"))
    done = subprocess.run([analyze, "verify", str(file)], capture_output=True, text=True, timeout=30, check=False)
    assert "kill mode" in done.stderr, "it does complain"


def test_P11_a_run_may_look_at_the_service_and_not_change_it(home: TestHome, systemd: StandIns) -> None:
    for words in ("install", "uninstall"):
        assert home.error("service", words, status=4, HORAE_RUN_ID="abc")["code"] == "refused"
    assert systemd.calls() == []
    home.json("service", "status", status=1, HORAE_RUN_ID="abc")
    assert "ExecStart" in home.json("service", "install", "--dry", HORAE_RUN_ID="abc")["text"]


def test_a_gateway_outside_the_service_is_in_its_way(home: TestHome, systemd: StandIns) -> None:
    gateway = start(home)
    try:
        error = home.error("service", "install", status=6)
        assert f"pid {gateway.pid}" in error["message"]
        assert not unit_of(home).exists()
        home.env["HORAE_HOST"] = ""
        units = unit_of(home)
        units.parent.mkdir(parents=True)
        text = home.json("service", "install", "--dry")["text"]
        units.write_text(text)
        known = systemd.folder / "known"
        known.mkdir()
        shutil.copy(units, known)
        (systemd.folder / "active-horae.service").write_text(str(gateway.pid))
        assert home.json("service", "install")["pid"] == gateway.pid, "its own one is not"
    finally:
        gateway.stop()


def test_what_a_service_would_not_have_is_told(home: TestHome, systemd: StandIns) -> None:
    home.config('pass_env = ["API_KEY", "PATH"]\n')
    (note,) = home.json("service", "install")["notes"]
    assert "(API_KEY)" in note
    assert "systemctl --user edit horae.service" in note
    error = home.error("service", "install", status=4, HORAE_STORE="postgresql://u:secret@h/d")
    assert "secret" not in str(error)
    assert "config.toml" in error["hint"]


def test_a_folder_that_cannot_be_written_to_is_named(home: TestHome, systemd: StandIns) -> None:
    (home.path.parent / ".config").write_text("a file")
    error = home.error("service", "install", status=1)
    assert str(unit_of(home)) in error["message"]
    assert changing(systemd) == []


def test_usage(home: TestHome, tmp_path: Path) -> None:
    assert home.error("service", status=2)["code"] == "usage"
    assert home.error("service", "restart", status=2)["code"] == "usage"
    assert home.error("service", "install", "--user", "--system", status=2)["code"] == "usage"
    nowhere = TestHome(tmp_path / "nowhere", inside=True)
    assert nowhere.error("service", "install", status=3)["code"] == "not_found"


# ── of the machine, and elsewhere


def kept(home: TestHome, action: str, **how: Any) -> dict[str, Any]:
    with mock.patch.dict(os.environ, home.environment(), clear=True):
        return keep(open_house(None), action, **{"system": False, "dry": False, **how})


def refused(ask: Callable[[], object]) -> Problem:
    with pytest.raises(Refused) as caught:
        ask()
    return caught.value


def test_only_root_makes_a_service_of_the_machine(home: TestHome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("horae.wiring.keeping.os.getuid", lambda: 1000)
    assert "only root" in refused(lambda: kept(home, "install", system=True)).message
    assert kept(home, "install", system=True, dry=True)["file"].startswith("/etc/systemd/system/horae")


def test_a_service_of_the_machine(home: TestHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    units = tmp_path / "etc"
    made = a_systemd(tmp_path / "bin", units)
    home.env["PATH"] = made.path
    monkeypatch.setattr("horae.app.systemd.SYSTEM_FOLDER", str(units))
    monkeypatch.setattr("horae.wiring.keeping.os.getuid", lambda: 0)
    answer = kept(home, "install", system=True)
    assert (answer["scope"], answer["linger"], answer["running"]) == ("system", None, True)
    assert changing(made) == ["daemon-reload", "enable --now horae.service"]
    assert made.calls("loginctl") == []
    text = (units / "horae.service").read_text()
    owner = os.stat(home.path).st_uid
    assert ("User=" in text) is (owner != 0)
    assert "WantedBy=multi-user.target" in text


def test_on_windows_it_is_refused_with_a_way_round(home: TestHome) -> None:
    problem = refused(lambda: kept(home, "install", platform="win32"))
    assert problem.exit_status == 4
    assert "WSL" in str(problem.hint)


LAUNCHCTL = """
D=$(dirname "$0")
case $1 in
  print) case $2 in
      gui/*/*) [ -f "$D/loaded" ] || { echo "Could not find service" >&2; exit 113; }
        printf 'com.apple = {\\n\\tstate = running\\n\\tpid = 501\\n}\\n' ;;
      gui/*) [ -f "$D/nobody" ] && { echo "Domain does not support" >&2; exit 125; } ;;
    esac ;;
  bootstrap) [ -f "$D/stuck" ] && { echo "Bootstrap failed: 5: Input/output error" >&2; exit 5; }; : >"$D/loaded" ;;
  bootout) rm "$D/loaded" ;;
esac
"""


def test_launchd_is_asked_for_the_same(home: TestHome, tmp_path: Path) -> None:
    made = StandIns(tmp_path / "bin")
    made.put("launchctl", LAUNCHCTL)
    home.env["PATH"] = made.path
    file = home.path.parent / "Library" / "LaunchAgents" / "horae.gateway.plist"
    target = f"gui/{os.getuid()}/horae.gateway"

    def ask(action: str) -> dict[str, Any]:
        made.forget()
        return kept(home, action, platform="darwin")

    answer = ask("install")
    assert (answer["manager"], answer["file"], answer["pid"], answer["problems"]) == ("launchd", str(file), 501, [])
    assert answer["steps"] == [f"launchctl enable {target}", f"launchctl bootstrap gui/{os.getuid()} {file}"]
    assert ask("install")["steps"] == []
    home.config('drain = "10m"\n')
    assert "not what would be written today" in ask("status")["notes"][0]
    assert ask("install")["steps"][0] == f"launchctl bootout {target}"
    home.env["LANG"] = "de_DE.UTF-8"
    assert ask("status")["notes"] == []
    assert ask("status")["running"] is True
    assert ask("uninstall")["did"] == "uninstalled"
    assert not file.exists()
    assert ask("uninstall")["did"] == "was not installed"
    (made.folder / "stuck").touch()
    with pytest.raises(Problem, match="Input/output error"):
        ask("install")
    (made.folder / "nobody").touch()
    assert "logged in at the screen" in refused(lambda: ask("status")).message
    assert "macOS" in refused(lambda: kept(home, "install", system=True, platform="darwin")).message
