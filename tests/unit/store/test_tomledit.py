"""Single values of TOML files are changed, and nothing else of them; what cannot be changed safely is left alone."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.errors import Conflict, Invalid, Refused, Trouble
from horae.store import tomledit

MOST = 1 << 20


def changed(tmp_path: Path, text: str, *place: str, value: str | None = "x") -> str:
    path = tmp_path / "a.toml"
    path.write_bytes(text.encode())
    if value is None:
        tomledit.remove(str(path), place, most=MOST)
    else:
        tomledit.put(str(path), place, value, most=MOST)
    return path.read_bytes().decode()


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("", '[agents]\nmodel = "x"\n'),
        ("# hi", '# hi\n[agents]\nmodel = "x"\n'),
        ("[agents]\n# why\nturns = 1 # note\n", '[agents]\n# why\nturns = 1 # note\nmodel = "x"\n'),
        ('[agents]\nmodel = "old" # was best\n', '[agents]\nmodel = "x" # was best\n'),
        ('[agents.h]\nkind="acp"\n', '[agents]\nmodel = "x"\n\n[agents.h]\nkind="acp"\n'),
        ("agents.turns = 1\n[budget]\nusd_day=1\n", 'agents.turns = 1\nagents.model = "x"\n[budget]\nusd_day=1\n'),
        ("agents = {turns = 1} # c\n", 'agents = {turns = 1,model = "x"} # c\n'),
    ],
)
def test_one_value_is_said_and_the_rest_stays(tmp_path: Path, text: str, after: str) -> None:
    assert changed(tmp_path, text, "agents", "model") == after


def test_a_key_of_the_file_stands_before_its_tables(tmp_path: Path) -> None:
    after = changed(tmp_path, "a = 1\n\n[t]\nb = 2\n", "model")
    assert tomllib.loads(after) == {"a": 1, "model": "x", "t": {"b": 2}}


def test_one_value_is_taken_away(tmp_path: Path) -> None:
    assert changed(tmp_path, '# top\nA = "1"\nB = "2" # two\n# end\n', "B", value=None) == '# top\nA = "1"\n# end\n'
    with pytest.raises(KeyError):
        changed(tmp_path, 'A = "1"\n', "B", value=None)


@pytest.mark.parametrize("text", ["= 1", 'A = "', "\udcff", "[" * 3000])
def test_what_is_no_toml_is_not_touched_and_not_shown(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(Invalid, match="is not TOML"):
        tomledit.put(str(path), ("A",), "x", most=MOST)
    assert path.read_bytes() == text.encode("utf-8", "surrogateescape")


def test_a_value_where_a_table_should_be_is_named(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="agents must be a table"):
        changed(tmp_path, "agents = 5\n", "agents", "model")


def test_a_change_that_would_say_something_else_is_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.toml"
    path.write_text('A = "1"\n')
    monkeypatch.setattr("tomlkit.dumps", lambda _: 'B = "x"\n')
    with pytest.raises(Refused, match="cannot be changed in it safely") as caught:
        tomledit.put(str(path), ("B",), "x", most=MOST)
    assert "by hand" in (caught.value.hint or "")
    assert path.read_text() == 'A = "1"\n'


def test_what_somebody_else_writes_meanwhile_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.toml"
    path.write_text('A = "1"\n')
    beside = tomledit._beside

    def meanwhile(*args: Any) -> str:
        path.write_text('A = "2"\n')
        return beside(*args)

    monkeypatch.setattr(tomledit, "_beside", meanwhile)
    with pytest.raises(Conflict, match="changed meanwhile"):
        tomledit.put(str(path), ("B",), "x", most=MOST)
    assert path.read_text() == 'A = "2"\n'
    assert [found.name for found in tmp_path.iterdir()] == ["a.toml"]


def test_modes_and_links_stay(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "real.toml"
    real.parent.mkdir()
    real.write_text("a = 1\n")
    real.chmod(0o640)
    link = tmp_path / "a.toml"
    link.symlink_to(real)
    tomledit.put(str(link), ("b",), "x", most=MOST)
    assert link.is_symlink()
    assert tomllib.loads(real.read_text()) == {"a": 1, "b": "x"}
    assert real.stat().st_mode & 0o777 == 0o640
    tomledit.put(str(tmp_path / "new.toml"), ("b",), "x", most=MOST)
    assert (tmp_path / "new.toml").stat().st_mode & 0o777 == 0o600


def test_what_is_no_file_or_too_large_is_said(tmp_path: Path) -> None:
    (tmp_path / "d.toml").mkdir()
    with pytest.raises((Invalid, Trouble)):
        tomledit.put(str(tmp_path / "d.toml"), ("b",), "x", most=MOST)
    with pytest.raises(Trouble, match="cannot be written"):
        tomledit.put(str(tmp_path / "none" / "a.toml"), ("b",), "x", most=MOST)
    path = tmp_path / "a.toml"
    path.write_text("a = 1\n")
    with pytest.raises(Invalid, match="more than 0 KiB"):
        tomledit.put(str(path), ("b",), "x", most=3)
    with pytest.raises(Invalid, match="would have more than 0 KiB"):
        tomledit.put(str(path), ("b",), "x" * 100, most=50)
    assert path.read_text() == "a = 1\n"


@given(st.text(st.characters(codec="utf-8"), max_size=60))
def test_any_text_is_read_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, value: str) -> None:
    path = tmp_path_factory.mktemp("any") / "a.toml"
    path.write_text('# mine\nA = "1" # one\n')
    tomledit.put(str(path), ("B",), value, most=MOST)
    assert tomllib.loads(path.read_bytes().decode()) == {"A": "1", "B": value}
    tomledit.remove(str(path), ("B",), most=MOST)
    assert path.read_text() == '# mine\nA = "1" # one\n'
