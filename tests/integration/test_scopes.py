"""Scopes, short questions and the end of a tree on Windows: with stand-ins for the programs that are asked."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from horae.runners.command import ask, with_bus
from horae.runners.scopes import Scopes, arguments, scope_of
from horae.runners.windows import end_tree
from tests.support.standin import SYSTEM, StandIns

HANG = "sleep 60 & echo $! >>{file}; wait"


def ended(file: Path) -> None:
    """What hung was ended with what it had started."""
    for pid in file.read_text().split():
        deadline = time.monotonic() + 10
        while Path(f"/proc/{pid}/stat").exists() and " Z " not in Path(f"/proc/{pid}/stat").read_text():
            assert time.monotonic() < deadline, f"{pid} lives"


# ── short questions


def test_a_question_is_answered(tmp_path: Path) -> None:
    made = StandIns(tmp_path)
    made.put("tell", 'echo "out $1"; echo "err $NAME" >&2', status=3)
    said = ask(("tell", "a b"), {**made.env, "NAME": "x"})
    assert (said.code, said.out, said.err, said.ok) == (3, "out a b\n", "err x\n", False)
    assert said.words == "err x"
    assert said.command == "tell 'a b'"
    made.put("silent", status=7)
    assert ask(("silent",), made.env).words == "exit status 7"


def test_one_that_hangs_is_ended_with_what_it_started(tmp_path: Path) -> None:
    made = StandIns(tmp_path)
    made.put("hang", HANG.format(file=tmp_path / "pids"))
    before = time.monotonic()
    said = ask(("hang",), made.env, 0.3)
    assert time.monotonic() - before < 10
    assert (said.code, said.missing) == (None, False)
    assert "no answer within" in said.words
    ended(tmp_path / "pids")


def test_one_that_is_not_there_or_no_program(tmp_path: Path) -> None:
    said = ask(("nobody-has-this",), {"PATH": SYSTEM})
    assert (said.code, said.missing) == (None, True)
    assert said.words == "nobody-has-this is not on this machine"
    (tmp_path / "text").write_text("no program")
    said = ask((str(tmp_path / "text"),), {"PATH": SYSTEM})
    assert (said.code, said.missing, said.words) == (None, False, "Permission denied")
    assert ask(("a\0b",), {"PATH": SYSTEM}).code is None


def test_somebodys_manager_is_found_without_being_named(tmp_path: Path) -> None:
    (tmp_path / "1000").mkdir()
    assert with_bus({"A": "b"}, 1000, str(tmp_path)) == {"A": "b", "XDG_RUNTIME_DIR": str(tmp_path / "1000")}
    assert with_bus({}, 1001, str(tmp_path)) == {}
    assert with_bus({"XDG_RUNTIME_DIR": "/x"}, 1000, str(tmp_path)) == {"XDG_RUNTIME_DIR": "/x"}
    assert with_bus({"DBUS_SESSION_BUS_ADDRESS": "/x"}, 1000, str(tmp_path)) == {"DBUS_SESSION_BUS_ADDRESS": "/x"}


# ── scopes


@pytest.fixture
def made(tmp_path: Path) -> StandIns:
    """A person with a manager of their own that stays."""
    found = StandIns(tmp_path / "bin")
    found.put("systemctl", "echo running")
    found.put("busctl")
    found.put("loginctl", "echo Linger=yes")
    return found


def a_person(made: StandIns, **changes: object) -> Scopes:
    return Scopes(made.env, **{"user": "ada", "uid": 1000, "platform": "linux", **changes})  # pyright: ignore[reportArgumentType]


def test_a_scope_is_ordered_for_one_process(made: StandIns) -> None:
    scopes = a_person(made)
    assert scopes.usable() == (True, "each run's keeper has a scope of its own, from ada's own systemd")
    assert scopes.adopt("1f2e-shim 3", 4242) is None
    call = made.calls("busctl")[-1]
    at = call.index("ssa(sv)a(sa(sv))")
    assert call[1:3] == ["--user", "--quiet"]
    assert call[3:at] == [
        "call", "org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager",
        "StartTransientUnit",
    ]  # fmt: skip
    assert call[at + 1 : at + 4] == ["horae-1f2e-shim_3.scope", "fail", "5"]
    assert call[at + 4 : at + 8] == ["PIDs", "au", "1", "4242"]
    assert call[at + 8 : at + 11] == ["Delegate", "b", "true"]
    assert call[at + 11 : at + 14] == ["CollectMode", "s", "inactive-or-failed"]
    assert call[-1] == "0", "no other units with it"


def test_it_is_asked_once_what_there_is(made: StandIns) -> None:
    scopes = a_person(made)
    scopes.adopt("a", 1)
    scopes.adopt("b", 2)
    assert len(made.calls("systemctl")) == 1
    scopes.again()
    scopes.usable()
    assert len(made.calls("systemctl")) == 2


def test_root_asks_the_machines_manager_and_needs_no_lingering(made: StandIns) -> None:
    made.put("loginctl", "echo Linger=no")
    scopes = a_person(made, user="root", uid=0)
    assert scopes.usable()[0] is True
    assert scopes.adopt("a", 7) is None
    assert "--user" not in made.calls("busctl")[-1]
    assert "--user" not in made.calls("systemctl")[-1]
    assert made.calls("loginctl") == []


def test_who_does_not_linger_has_none_and_is_told_how(made: StandIns) -> None:
    made.put("loginctl", "echo Linger=no")
    scopes = a_person(made)
    usable, why = scopes.usable()
    assert usable is False
    assert "loginctl enable-linger" in why
    assert scopes.adopt("a", 1) == why
    assert not [call for call in made.calls("busctl") if "StartTransientUnit" in call]


@pytest.mark.parametrize(
    ("name", "body", "status", "why"),
    [
        ("systemctl", "echo offline", 1, "offline"),
        ("systemctl", "echo Failed to connect to bus: No medium found >&2", 1, "No medium found"),
        ("systemctl", HANG.format(file="/dev/null"), 0, "no answer within 2 seconds"),
        ("busctl", "", 1, "busctl cannot be asked: exit status 1"),
        ("loginctl", "", 1, "does not linger"),
    ],
)
def test_without_a_manager_there_are_none(made: StandIns, name: str, body: str, status: int, why: str) -> None:
    made.put(name, body, status=status)
    usable, said = a_person(made).usable()
    assert usable is False
    assert why in said


@pytest.mark.parametrize("name", ["systemctl", "busctl"])
def test_without_its_programs_there_are_none(made: StandIns, name: str) -> None:
    (made.folder / name).unlink()
    scopes = Scopes({"PATH": str(made.folder)}, user="ada", uid=1000, platform="linux")
    usable, said = scopes.usable()
    assert usable is False
    assert f"{name} " in said


def test_on_another_system_there_are_none(made: StandIns) -> None:
    assert a_person(made, platform="darwin").usable() == (False, "there is no systemd on this system")
    assert made.calls() == []


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("echo Call failed: Unit horae-a.scope already exists. >&2", "already exists"),
        ("", "exit status 1"),
        (HANG.format(file="/dev/null"), "no answer within 2 seconds"),
    ],
)
def test_a_scope_that_is_refused_is_a_reason_and_no_error(made: StandIns, body: str, why: str) -> None:
    made.put("busctl", f'[ "$1" = --version ] && exit 0\n{body}', status=1)
    scopes = a_person(made)
    assert scopes.usable()[0] is True
    said = scopes.adopt("a", 1)
    assert said is not None
    assert why in said


def test_a_process_is_found_in_its_scope(made: StandIns, tmp_path: Path) -> None:
    scopes = a_person(made)
    (tmp_path / "7").mkdir()
    file = tmp_path / "7" / "cgroup"
    file.write_text("0::/user.slice/user-1000.slice/user@1000.service/horae.slice/horae-a.scope/shim\n")
    assert scopes.holds("a", 7, str(tmp_path))
    assert not scopes.holds("b", 7, str(tmp_path))
    assert not scopes.holds("a", 8, str(tmp_path))
    assert not scopes.holds("a", os.getpid())


def test_a_name_is_one_that_systemd_takes() -> None:
    assert scope_of("a/b c\n") == "horae-a_b_c_.scope"
    assert len(scope_of("x" * 500)) < 256


def test_the_bus_itself_reads_the_order_as_it_is_meant(tmp_path: Path) -> None:
    """busctl makes of the words the message that systemd documents."""
    if not all(map(shutil.which, ("dbus-run-session", "dbus-monitor", "busctl"))):
        pytest.skip("needs dbus and systemd's programs")
    script = tmp_path / "on-a-bus.sh"
    words = " ".join(f"'{word}'" for word in arguments("horae-a.scope", 4242))
    script.write_text(
        'dbus-monitor --address "$DBUS_SESSION_BUS_ADDRESS" >"$1" 2>&1 & monitor=$!\n'
        'until grep -q NameAcquired "$1"; do :; done\n'
        'busctl --address="$DBUS_SESSION_BUS_ADDRESS" call org.example.Nobody /org/freedesktop/systemd1 '
        f"org.freedesktop.systemd1.Manager StartTransientUnit 'ssa(sv)a(sa(sv))' {words}\n"
        'for i in $(seq 200); do grep -q "^error" "$1" && break; sleep 0.02; done\n'
        "kill $monitor\n"
    )
    subprocess.run(
        ("dbus-run-session", "--", "sh", script, tmp_path / "seen"), capture_output=True, timeout=60, check=False
    )
    seen = " ".join((tmp_path / "seen").read_text().split())
    assert 'string "horae-a.scope" string "fail" array [ struct { string "PIDs" variant array [ uint32 4242 ] }' in seen
    assert 'struct { string "Delegate" variant boolean true }' in seen
    assert 'struct { string "Slice" variant string "horae.slice" }' in seen


# ── the end of a tree, on Windows


class Killer:
    """os.kill of a system that refuses in some way."""

    def __init__(self, error: OSError | None = None) -> None:
        self.error = error
        self.calls: list[tuple[int, int]] = []

    def __call__(self, pid: int, number: int) -> None:
        self.calls.append((pid, number))
        if self.error is not None:
            raise self.error


def gone_by_its_number() -> OSError:
    error = OSError("The parameter is incorrect")
    error.winerror = 87  # pyright: ignore[reportAttributeAccessIssue]
    return error


@pytest.mark.parametrize("status", [0, 128])
def test_a_tree_that_was_ended_or_had_gone_is_gone(tmp_path: Path, status: int) -> None:
    made, kill = StandIns(tmp_path), Killer()
    made.put("taskkill", "echo words in any language >&2", status=status)
    assert end_tree(4242, 2.0, made.env, kill=kill) is None
    assert made.calls() == [["taskkill", "/PID", "4242", "/T", "/F"]]
    assert kill.calls == []


@pytest.mark.parametrize(
    ("status", "error", "why"),
    [
        (1, PermissionError(13, "Access is denied"), "Zugriff verweigert; and it may not be ended by us"),
        (1, None, "only the process itself was ended"),
        (255, ProcessLookupError(), None),
        (255, gone_by_its_number(), None),
        (5, OSError(22, "odd"), "could not be ended: odd"),
    ],
)
def test_what_taskkill_cannot_do_is_tried_once_more(
    tmp_path: Path, status: int, error: OSError | None, why: str | None
) -> None:
    made, kill = StandIns(tmp_path), Killer(error)
    made.put("taskkill", "echo Zugriff verweigert >&2", status=status)
    said = end_tree(4242, 2.0, made.env, kill=kill)
    assert kill.calls == [(4242, signal.SIGTERM)]
    assert (said is None) if why is None else (said is not None and why in said)


@pytest.mark.parametrize("error", [None, ProcessLookupError(), gone_by_its_number()])
def test_without_taskkill_the_process_is_ended_and_its_children_not_proved(
    tmp_path: Path, error: OSError | None
) -> None:
    (tmp_path / "empty").mkdir()
    said = end_tree(4242, 2.0, {"PATH": str(tmp_path / "empty")}, kill=(kill := Killer(error)))
    assert kill.calls == [(4242, signal.SIGTERM)]
    assert said is not None
    assert "taskkill is not on this machine" in said
    assert "what it started is not known" in said


def test_a_taskkill_that_hangs_is_not_waited_for(tmp_path: Path) -> None:
    made = StandIns(tmp_path)
    made.put("taskkill", HANG.format(file=tmp_path / "pids"))
    before = time.monotonic()
    said = end_tree(4242, 0.3, made.env, kill=Killer())
    assert time.monotonic() - before < 10
    assert said is not None
    assert "no answer within" in said
    ended(tmp_path / "pids")


@pytest.mark.parametrize("pid", [0, -1])
def test_nobody_and_everybody_are_not_ended(tmp_path: Path, pid: int) -> None:
    made, kill = StandIns(tmp_path), Killer()
    made.put("taskkill")
    assert end_tree(pid, 2.0, made.env, kill=kill) is not None
    assert (made.calls(), kill.calls) == ([], [])
