"""Values that stand in no job file: read when they are needed, closed to others, and shown nowhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from horae.errors import Invalid, Problem
from horae.limits import SECRETS_BYTES_MAX
from horae.secretfile import SecretFile


def put(home: Path, text: str | bytes, mode: int = 0o600) -> Path:
    path = home / "secrets.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    path.chmod(mode)
    return path


def test_values_come_from_the_file_and_else_from_the_environment(tmp_path: Path) -> None:
    put(tmp_path, 'A = "from the file"\nB = """two\nlines"""\nEMPTY = ""\n')
    secrets = SecretFile(str(tmp_path), {"A": "from outside", "C": "also from outside", "D": "not asked for"})
    assert secrets.lookup(("A", "B", "C", "EMPTY")) == (
        {"A": "from the file", "B": "two\nlines", "C": "also from outside", "EMPTY": ""},
        (),
    )
    assert dict(secrets.values()) == {"A": "from the file", "B": "two\nlines", "EMPTY": ""}


def test_a_name_that_nobody_knows_is_told_with_what_to_do(tmp_path: Path) -> None:
    secrets = SecretFile(str(tmp_path), {"C": "c"})
    found, problems = secrets.lookup(("A", "C", "B"))
    assert found == {"C": "c"}
    assert [problem.split(":")[0] for problem in problems] == ["secret A has no value", "secret B has no value"]
    assert f'add A = "…" to {tmp_path}/secrets.toml' in problems[0]
    assert "gateway's environment" in problems[0]


def test_it_is_read_again_when_it_changed_and_only_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = SecretFile(str(tmp_path), {})
    assert secrets.lookup(("A",))[0] == {}
    put(tmp_path, 'A = "first-1"\n')
    assert secrets.lookup(("A",))[0] == {"A": "first-1"}
    assert secrets.redactor().text("first-1 second2") == "[redacted A] second2"
    with monkeypatch.context() as patched:
        patched.setattr(os, "open", None)
        assert secrets.lookup(("A",))[0] == {"A": "first-1"}
        assert secrets.redactor() is secrets.redactor()
    fresh = tmp_path / "fresh"
    fresh.write_text('A = "second2"\n', encoding="utf-8")
    fresh.chmod(0o600)
    fresh.replace(tmp_path / "secrets.toml")
    assert secrets.lookup(("A",))[0] == {"A": "second2"}
    assert secrets.redactor().text("first-1 second2") == "first-1 [redacted A]"
    (tmp_path / "secrets.toml").unlink()
    assert secrets.lookup(("A",))[0] == {}
    assert secrets.redactor().text("second2") == "second2"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o644, 0o660, 0o601])
def test_one_that_others_may_open_is_not_used(tmp_path: Path, mode: int) -> None:
    path = put(tmp_path, 'A = "hunter2"\n', mode)
    secrets = SecretFile(str(tmp_path), {"A": "from outside"})
    found, problems = secrets.lookup(("A",))
    assert found == {}
    assert problems == (f"{path} can be read or changed by others: run `chmod 600 {path}`",)
    path.chmod(0o600)
    assert secrets.lookup(("A",)) == ({"A": "hunter2"}, ())
    path.chmod(mode)
    assert secrets.lookup(("A",))[1] == problems
    path.chmod(0o400)
    assert secrets.lookup(("A",))[1] == ()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('A = "hunter2\n', "is not TOML, at line 1"),
        ("A = hunter2\n", "is not TOML, at line 1"),
        ('A = "hunter2"\nA = "hunter3"\n', "is not TOML"),
        (b'A = "hunter2\xff"\n', "is not UTF-8"),
        ("A = 5\n", "the value of A is not text"),
        ("A = true\n", "the value of A is not text"),
        ('[A]\nB = "hunter2"\n', "the value of A is not text"),
        ('A = ["hunter2"]\n', "the value of A is not text"),
        ('"a-b" = "hunter2"\n', "'a-b' is no name"),
        ('A = "hunter2\\u0000"\n', "the value of A contains a NUL"),
        ("A = " + "[" * 5000, "is not TOML"),
        ('A = "' + "x" * SECRETS_BYTES_MAX + '"', "more than 1024 KiB"),
    ],
)
def test_a_broken_file_is_said_without_its_values(tmp_path: Path, text: str | bytes, says: str) -> None:
    path = put(tmp_path, text)
    secrets = SecretFile(str(tmp_path), {})
    (problem,) = secrets.lookup(("A",))[1]
    assert says in problem
    assert str(path) in problem
    assert "hunter" not in problem
    with pytest.raises(Invalid) as caught:
        secrets.values()
    assert "hunter" not in f"{caught.value} {caught.value.details} {caught.value.__cause__}"
    assert secrets.redactor().text("hunter2") == "hunter2"
    assert secrets.lookup(()) == ({}, ())


def test_what_is_no_file_makes_nobody_wait(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "secrets.toml", 0o600)
    assert "is not a file" in SecretFile(str(tmp_path), {}).lookup(("A",))[1][0]
    (tmp_path / "secrets.toml").unlink()
    (tmp_path / "secrets.toml").mkdir(0o700)
    with pytest.raises(Problem):
        SecretFile(str(tmp_path), {}).values()


def test_values_from_the_environment_are_taken_out_too(tmp_path: Path) -> None:
    put(tmp_path, 'A = "from-file"\n')
    secrets = SecretFile(str(tmp_path), {"A": "shadowed", "C": "from-outside", "D": "not-asked-for"})
    said = secrets.redactor(("A", "C", "NONE")).text("from-file shadowed from-outside not-asked-for")
    assert said == "[redacted A] shadowed [redacted C] not-asked-for"
    assert secrets.redactor().text("from-file from-outside") == "[redacted A] from-outside"
