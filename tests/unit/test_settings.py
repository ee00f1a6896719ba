"""`config.toml`: what it may say, what each mistake is called, and that every key is optional."""

from __future__ import annotations

from pathlib import Path

import pytest

from horae.errors import Invalid, Trouble
from horae.limits import DRAIN_S, PARALLEL_DEFAULT
from horae.settings import KEYS, host_timezone, load
from horae.store.newhome import make_home


def home(tmp_path: Path, text: str) -> str:
    (tmp_path / "config.toml").write_text(text, encoding="utf-8")
    return str(tmp_path)


def test_without_a_file_everything_has_a_default(tmp_path: Path) -> None:
    found = load(str(tmp_path), {"TZ": "Europe/Paris"})
    assert (found.timezone, found.parallel, found.commands, found.pass_env, found.drain_s) == (
        "Europe/Paris", PARALLEL_DEFAULT, (), (), DRAIN_S,
    )  # fmt: skip


def test_every_key_is_read(tmp_path: Path) -> None:
    text = 'timezone = "Asia/Tokyo"\nparallel = 3\ncommands = ["true"]\npass_env = ["A"]\ndrain = "1m 30s"\n'
    assert all(key in text for key in KEYS)
    found = load(home(tmp_path, text), {})
    assert (found.timezone, found.parallel, found.commands, found.pass_env, found.drain_s) == (
        "Asia/Tokyo", 3, ("true",), ("A",), 90.0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("parallel = 1001", "from 1 to 1000"),
        ("parallel = 1.5", "a whole number"),
        ("parallel = false", "a whole number"),
        ('pass_env = ["A", 1]', "a list of names"),
        ("timezone = 1", "an IANA zone"),
        ('drain = ""', "drain"),
        ('drain = "-5s"', "drain"),
        ("paralel = 4", "unknown key paralel"),
        ("= 4", "Invalid"),
    ],
)
def test_a_mistake_names_file_key_and_what_was_expected(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(Invalid) as caught:
        load(home(tmp_path, text), {})
    assert caught.value.message.startswith(f"{tmp_path}/config.toml: ")
    assert said in caught.value.message
    assert caught.value.details["file"] == f"{tmp_path}/config.toml"


def test_a_config_that_cannot_be_read_is_the_machines_trouble(tmp_path: Path) -> None:
    (tmp_path / "config.toml").mkdir()
    with pytest.raises(Trouble, match=r"config\.toml cannot be read"):
        load(str(tmp_path), {})


def test_the_machines_zone_is_the_first_that_is_one() -> None:
    assert host_timezone({"HORAE_TIMEZONE": "Asia/Tokyo", "TZ": "Europe/Paris"}) == "Asia/Tokyo"
    assert host_timezone({"TZ": ":Europe/Paris"}) == "Europe/Paris"
    assert host_timezone({"HORAE_TIMEZONE": "nonsense", "TZ": "Europe/Paris"}) == "Europe/Paris"
    assert host_timezone({})


def test_the_config_of_a_new_home_says_every_key_and_changes_nothing(tmp_path: Path) -> None:
    made = make_home(str(tmp_path / "home"), example=True)
    assert "config.toml" in made
    text = (tmp_path / "home" / "config.toml").read_text(encoding="utf-8")
    assert all(f"{key} = " in text for key in KEYS)
    bare = tmp_path / "bare"
    bare.mkdir()
    shown, plain = load(str(tmp_path / "home"), {}), load(str(bare), {})
    assert (shown.parallel, shown.commands, shown.pass_env, shown.drain_s) == (
        plain.parallel,
        plain.commands,
        plain.pass_env,
        plain.drain_s,
    )
    assert make_home(str(tmp_path / "home"), example=True) == []


def test_what_exists_in_a_home_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "home"
    make_home(str(path), example=True)
    (path / "jobs" / "heartbeat.md").write_text("mine")
    (path / "scripts" / "watchdog.sh").unlink()
    assert make_home(str(path), example=True) == ["scripts/watchdog.sh"]
    assert (path / "jobs" / "heartbeat.md").read_text() == "mine"
