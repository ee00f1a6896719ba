"""`horae secrets` as a person uses it: values go in, come out nowhere, and are there for the next run."""

from __future__ import annotations

import os
import subprocess
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pexpect
import pytest

from tests.support.process import TestHome, running

ROOT = Path(__file__).parents[2]
VALUE = "correct horse battery"
AWFUL = 'a"b\\\'\'\'"""\nline 2\r\n\ttab [x]\n = # no comment\u2028 ünï 🎉 \x1b[0m'


def set_(home: TestHome, name: str, value: str, *words: str, status: int = 0) -> str:
    """The program as a process of its own: what it says on both streams."""
    answer = home.horae("secrets", "set", name, *words, stdin=value, status=status)
    assert value.strip() not in answer.out + answer.err or not value.strip()
    return answer.out + answer.err


def held(home: TestHome) -> dict[str, str]:
    return tomllib.loads((home.path / "secrets.toml").read_text(encoding="utf-8"))


def rows(home: TestHome) -> dict[str, tuple[list[str], list[str]]]:
    """name → places, users."""
    found = home.json("secrets")
    assert found["problems"] == []
    return {
        row["name"]: (row["places"], [f"{use['what']} {use['name']}" for use in row["used_by"]])
        for row in found["secrets"]
    }


def test_values_are_kept_as_they_are_and_comments_stay(home: TestHome) -> None:
    assert "set A in secrets.toml" in set_(home, "A", f"{VALUE}\n")
    path = home.path / "secrets.toml"
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text(f'# mine\nOLD = "old-value"  # since spring\n{path.read_text()}# the end', encoding="utf-8")
    set_(home, "AWFUL", AWFUL + "\n")
    set_(home, "A", "another value")
    assert held(home) == {"OLD": "old-value", "A": "another value", "AWFUL": AWFUL}
    assert path.read_text(encoding="utf-8").startswith('# mine\nOLD = "old-value"  # since spring\n')
    assert "# the end" in path.read_text(encoding="utf-8")
    assert home.json("secrets", "unset", "A")["places"] == ["file"]
    assert set(held(home)) == {"OLD", "AWFUL"}
    assert path.stat().st_mode & 0o777 == 0o600
    assert not [name for name in os.listdir(home.path) if name.startswith(".horae-")]
    shown = home.horae("secrets").out + home.horae("secrets", "--json").out
    assert "old-value" not in shown


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (b"", "is empty"),
        (b"\n", "is empty"),
        (b"hunter2\0hunter2", "a NUL character"),
        (b"hunter2\xff", "not text in UTF-8"),
        (b"hunter2" * 10_000, "more than 64 KiB"),
    ],
)
def test_what_is_no_value_is_refused_and_not_shown(home: TestHome, value: bytes, says: str) -> None:
    done = subprocess.run(
        home.words("secrets", "set", "A"), env=home.environment(), input=value, capture_output=True, check=False
    )
    assert done.returncode == 2
    assert says in done.stderr.decode()
    assert b"hunter2" not in done.stdout + done.stderr
    assert not (home.path / "secrets.toml").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("A", "hunter2"),
        ("A=hunter2",),
        ("A", "--value", "hunter2"),
        ("A", "--value=hunter2"),
        ("sk-hunter2",),
        ("0hunter2",),
    ],
)
def test_a_value_is_never_an_argument(home: TestHome, words: tuple[str, ...]) -> None:
    answer = home.horae("--json", "secrets", "set", *words, stdin="x", status=2)
    assert "horae secrets set NAME" in answer.error["hint"]
    assert "hunter2" not in answer.out + answer.err
    assert not (home.path / "secrets.toml").exists()


def test_at_a_terminal_it_is_asked_for_without_an_echo(home: TestHome) -> None:
    program, *rest = home.words("secrets", "set", "A")
    child = pexpect.spawn(program, rest, env=home.environment({"TERM": "xterm"}), encoding="utf-8", timeout=20)
    child.expect("A: ")
    child.sendline(VALUE)
    said = child.read()
    child.close()
    assert (child.exitstatus, held(home)) == (0, {"A": VALUE})
    assert VALUE not in said


def test_a_prompt_that_is_left_changes_nothing(home: TestHome) -> None:
    program, *rest = home.words("secrets", "set", "A")
    for leave, status in (("\x04", 2), ("\x03", 130)):
        child = pexpect.spawn(program, rest, env=home.environment({"TERM": "xterm"}), encoding="utf-8", timeout=20)
        child.expect("A: ")
        child.send(leave)
        said = child.read()
        child.close()
        assert child.exitstatus == status, said
        assert "Traceback" not in said
    assert not (home.path / "secrets.toml").exists()


def test_many_at_once_lose_nothing(home: TestHome) -> None:
    names = [f"NAME_{number}" for number in range(8)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda name: set_(home, name, f"value of {name}"), names))
    assert held(home) == {name: f"value of {name}" for name in names}


@pytest.mark.parametrize("action", ["set", "unset"])
@pytest.mark.parametrize(
    ("text", "mode", "says"),
    [
        ('A = "hunter2"\n', 0o644, "can be read or changed by others"),
        ('A = "hunter2\n', 0o600, "is not TOML"),
        ('A = "hunter2"\nB = 5\n', 0o600, "the value of B is not text"),
    ],
)
def test_a_file_that_is_not_sound_is_left_alone(home: TestHome, action: str, text: str, mode: int, says: str) -> None:
    path = home.path / "secrets.toml"
    path.write_text(text)
    path.chmod(mode)
    answer = home.horae("secrets", action, "A", stdin="new-value", status=2)
    assert says in answer.err
    assert path.read_text() == text
    assert path.stat().st_mode & 0o777 == mode
    problem = home.json("secrets")["problems"][0]
    assert says in problem
    assert "hunter2" not in problem + answer.err


def test_a_run_may_not(home: TestHome) -> None:
    for words in (("set", "A"), ("unset", "A")):
        refused = home.error("secrets", *words, status=4, HORAE_RUN_ID="ab12")
        assert "is not for runs" in refused["message"]
    assert not (home.path / "secrets.toml").exists()


def test_who_uses_what_is_told(home: TestHome) -> None:
    home.config(
        '[providers.cloud]\nkind = "anthropic"\nkey = "CLOUD_KEY"\n'
        '[agents.hermes]\nkind = "acp"\ncommand = ["hermes"]\nsecrets = ["CLOUD_KEY"]\n'
        '[mcp.notes]\ncommand = ["notes"]\nsecrets = ["NOTES_KEY"]\n'
        '[platforms.pager]\nkind = "apprise"\nurl = "tgram://{PAGER}/{chat}"\n'
        '[heartbeat]\nurl = "https://example.org/{PING}"\n'
    )
    home.write("fetch", script="hi.sh", secrets="[TOKEN, CLOUD_KEY]")
    set_(home, "UNUSED", VALUE)
    set_(home, "PAGER", VALUE)
    answer = home.json("secrets", PING="from outside")
    assert {row["name"]: row["places"] for row in answer["secrets"]} == {
        "CLOUD_KEY": [], "NOTES_KEY": [], "PAGER": ["file"], "PING": ["environment"], "TOKEN": [], "UNUSED": ["file"],
    }  # fmt: skip
    assert rows(home) == {
        "CLOUD_KEY": ([], ["provider cloud", "agent hermes", "job fetch"]),
        "NOTES_KEY": ([], ["mcp notes"]),
        "PAGER": (["file"], ["platform pager"]),
        "PING": ([], ["heartbeat heartbeat"]),
        "TOKEN": ([], ["job fetch"]),
        "UNUSED": (["file"], []),
    }
    gone = home.json("secrets", "unset", "PAGER")
    assert "it is used by platform pager: what needs it is blocked from now on" in gone["warnings"]
    missing = home.error("secrets", "unset", "UNUSE", status=3)
    assert missing["hint"] == "did you mean UNUSED?"


def test_a_running_gateway_has_a_new_value_at_its_next_run(home: TestHome) -> None:
    home.script("tell.sh", 'echo "told $TOKEN"\n')
    home.write("tell", script="tell.sh", secrets="[TOKEN]")
    with running(home):
        blocked = home.ended(home.json("run", "tell")["run_id"])
        assert blocked["outcome"] == "blocked"
        assert "`horae secrets set TOKEN`" in blocked["reason"]
        for value in ("first-value-1", "second-value-2"):
            set_(home, "TOKEN", value)
            done = home.json("run", "tell", "--wait")["run"]
            assert done["state"] == "completed"
            assert home.json("log", done["id"])["stdout"].strip() == "told [redacted TOKEN]"


# --- the keyring of the operating system


@pytest.fixture
def ringed(home: TestHome) -> TestHome:
    home.config('keyring = "on"\n')
    home.env |= {
        "PYTHON_KEYRING_BACKEND": "tests.support.ringbackend.FileRing",
        "RING_FILE": str(home.path.parent / "ring.json"),
        "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
    }
    return home


def test_the_keyring_must_be_switched_on(home: TestHome) -> None:
    said = set_(home, "A", VALUE, "--keyring", status=4)
    assert "the keyring is off" in said
    assert 'keyring = "on"' in said


def test_a_value_moves_to_the_keyring_is_used_and_taken_out_of_texts(ringed: TestHome) -> None:
    ringed.script("tell.sh", 'echo "told $TOKEN"\n')
    ringed.write("tell", script="tell.sh", secrets="[TOKEN]")
    set_(ringed, "TOKEN", "value in the file")
    assert "took it out of secrets.toml" in set_(ringed, "TOKEN", VALUE, "--keyring")
    set_(ringed, "UNUSED", VALUE, "--keyring")
    assert held(ringed) == {}
    answer = ringed.horae("--json", "secrets").json  # a process of its own: this one has no such keyring
    assert {row["name"]: row["places"] for row in answer["secrets"]} == {"TOKEN": ["keyring"], "UNUSED": ["keyring"]}
    with running(ringed):
        done = ringed.json("run", "tell", "--wait")["run"]
        assert (done["state"], ringed.json("log", done["id"])["stdout"].strip()) == (
            "completed",
            "told [redacted TOKEN]",
        )
        set_(ringed, "TOKEN", "a fresh value", "--keyring")
        done = ringed.json("run", "tell", "--wait")["run"]
        assert ringed.json("log", done["id"])["stdout"].strip() == "told [redacted TOKEN]"
        warned = ringed.horae("--json", "secrets", "set", "TOKEN", stdin="in the file").json
        assert warned["warnings"] == ["the keyring has a value for TOKEN too: it counts no more"]
        assert ringed.horae("--json", "secrets", "unset", "TOKEN").json["places"] == ["file", "keyring"]
        assert ringed.ended(ringed.json("run", "tell")["run_id"])["outcome"] == "blocked"


@pytest.mark.parametrize(("mode", "says"), [("fail", "cannot be used: cannot keep …"), ("drop", "does not have it")])
def test_a_keyring_that_keeps_nothing_is_told_and_the_file_stays(ringed: TestHome, mode: str, says: str) -> None:
    set_(ringed, "A", "old value")
    ringed.env["RING_MODE"] = mode
    assert says in set_(ringed, "A", VALUE, "--keyring", status=1)
    assert held(ringed) == {"A": "old value"}


def test_a_keyring_that_hangs_holds_nobody_up_for_long(ringed: TestHome) -> None:
    set_(ringed, "A", VALUE)
    ringed.env["RING_MODE"] = "hang"
    answer = ringed.horae("--json", "secrets").json
    assert "does not answer" in answer["problems"][0]
    assert [(row["name"], row["places"]) for row in answer["secrets"]] == [("A", ["file"])]
    told = [item for item in ringed.horae("--json", "doctor", status=1).json["checks"] if item["check"] == "secrets"]
    assert [("does not answer" in item["what"], item["ok"]) for item in told] == [(True, False)]
