"""Which program a job means: inside its folder only, by shebang or ending, commands only from the list (U15)."""

from __future__ import annotations

import builtins
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from horae.core.preflight import Facts
from horae.runners.scripts import command_facts, facts_for, script_facts
from tests.support.builders import a_job

PATH = "/usr/bin:/bin"


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    folder = tmp_path / "scripts"
    folder.mkdir()
    (tmp_path / "secret.sh").write_text("#!/bin/sh\n")
    return folder


def put(scripts: Path, name: str, text: str | bytes = "#!/bin/sh\n", mode: int = 0o644) -> Path:
    path = scripts / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    path.chmod(mode)
    return path


def look(scripts: Path, name: str, path: str = PATH) -> Facts:
    return script_facts(name, str(scripts), path)


@pytest.mark.parametrize(
    ("shebang", "words"),
    [
        ("#!/bin/sh", ["sh"]),
        ("#! /bin/sh", ["sh"]),
        ("#!/bin/sh -eu", ["sh", "-eu"]),
        ("#!/bin/sh\r", ["sh"]),
        ("#!/usr/bin/env sh", ["sh"]),
        ("#!/usr/bin/env -S sh -e -u", ["sh", "-e", "-u"]),
        ("#!/usr/bin/env\tsh", ["sh"]),
    ],
)
def test_the_shebang_names_the_interpreter(scripts: Path, shebang: str, words: list[str]) -> None:
    file = put(scripts, "a.py", f"{shebang}\necho hello\n")
    facts = look(scripts, "a.py")
    assert facts.problems == ()
    assert [os.path.basename(facts.argv[0]), *facts.argv[1:]] == [*words, str(file)]
    assert os.path.isabs(facts.argv[0])
    assert facts.cwd == str(scripts)


@pytest.mark.parametrize(
    "shebang",
    ["#!", "#!   ", "#!/usr/bin/env", "#!/usr/bin/env -S", "#!/no/such/interpreter", "#!/usr/bin/env nonesuch"],
)
def test_an_interpreter_that_is_not_there_is_said(scripts: Path, shebang: str) -> None:
    put(scripts, "a.sh", f"{shebang}\n")
    (problem,) = look(scripts, "a.sh").problems
    assert "interpreter" in problem
    assert "a.sh" in problem


@pytest.mark.parametrize(("name", "first"), [("a.sh", "/bin/sh"), ("a.py", sys.executable)])
def test_without_a_shebang_the_ending_decides(scripts: Path, name: str, first: str) -> None:
    file = put(scripts, name, "echo\n")
    assert look(scripts, name).argv == (first, str(file))


def test_a_program_is_started_as_it_is(scripts: Path) -> None:
    file = put(scripts, "tool", b"\x7fELF\x02\x01", mode=0o755)
    assert look(scripts, "tool").argv == (str(file),)


def test_neither_shebang_nor_ending_nor_executable(scripts: Path) -> None:
    put(scripts, "notes", "hello\n")
    assert "not executable" in look(scripts, "notes").problems[0]


def test_a_script_in_a_folder_of_its_own(scripts: Path) -> None:
    file = put(scripts, "deep/er/a.sh")
    facts = look(scripts, "deep/er/a.sh")
    assert (facts.argv[-1], facts.cwd) == (str(file), str(file.parent))


# ── U15: nothing from outside


@pytest.mark.parametrize(
    "name", ["../secret.sh", "x/../../secret.sh", "/etc/passwd", "..", "../scripts-not/a.sh", "../../../../etc/passwd"]
)
def test_U15_no_way_leads_out(scripts: Path, name: str) -> None:
    (problem,) = look(scripts, name).problems
    assert "outside" in problem


def test_U15_a_link_that_leads_out_is_refused_whoever_made_it(scripts: Path) -> None:
    (scripts / "link.sh").symlink_to("../secret.sh")
    (scripts / "folder").symlink_to(scripts.parent)
    for name in ("link.sh", "folder/secret.sh"):
        (problem,) = look(scripts, name).problems
        assert "outside" in problem


def test_U15_a_neighbour_with_the_same_beginning_is_outside(scripts: Path) -> None:
    put(scripts.parent / "scripts2", "a.sh")
    assert "outside" in look(scripts, "../scripts2/a.sh").problems[0]


def test_a_link_inside_is_resolved(scripts: Path) -> None:
    file = put(scripts, "real.sh")
    (scripts / "link.sh").symlink_to("real.sh")
    assert look(scripts, "link.sh").argv[-1] == str(file)


def test_the_folder_itself_may_be_a_link(scripts: Path, tmp_path: Path) -> None:
    put(scripts, "a.sh")
    (tmp_path / "linked").symlink_to(scripts)
    assert script_facts("a.sh", str(tmp_path / "linked"), PATH).problems == ()


# ── what is no script


def test_missing_dangling_folder_and_pipe_are_told_apart(scripts: Path) -> None:
    (scripts / "dangling.sh").symlink_to("nowhere.sh")
    (scripts / "folder.sh").mkdir()
    os.mkfifo(scripts / "pipe.sh")
    for name, says in (
        ("none.sh", "does not exist"),
        ("dangling.sh", "does not exist"),
        ("folder.sh", "is not a file"),
        ("pipe.sh", "is not a file"),
        (".", "is not a file"),
    ):
        (problem,) = look(scripts, name).problems
        assert says in problem


def test_a_loop_of_links_hangs_nothing(scripts: Path) -> None:
    (scripts / "a.sh").symlink_to("b.sh")
    (scripts / "b.sh").symlink_to("a.sh")
    assert len(look(scripts, "a.sh").problems) == 1


@pytest.mark.parametrize("name", ["a\0b.sh", "x" * 5000, "\udcff.sh"])
def test_a_name_that_no_file_can_have_is_a_problem_and_no_crash(scripts: Path, name: str) -> None:
    assert len(look(scripts, name).problems) == 1


def test_one_that_cannot_be_read_says_why(scripts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = put(scripts, "a.sh")
    real = builtins.open

    def refusing(path: Any, *args: Any, **kwargs: Any) -> Any:
        if str(path) == str(file):
            raise PermissionError(13, "Permission denied")
        return real(path, *args, **kwargs)

    monkeypatch.setattr(builtins, "open", refusing)
    assert look(scripts, "a.sh").problems == ("script a.sh cannot be read: Permission denied",)


# ── commands


def test_a_command_must_be_on_the_list() -> None:
    (problem,) = command_facts(["curl", "x"], "/h", ["git"], PATH).problems
    assert "not on the list" in problem
    assert 'commands = ["curl"]' in problem
    assert "empty" in command_facts(["curl"], "/h", [], PATH).problems[0]


@pytest.mark.parametrize(
    ("asked", "allowed"), [("sh", "sh"), ("/bin/sh", "/bin/sh"), ("sh", "/bin/sh"), ("/bin/sh", "sh")]
)
def test_an_allowed_command_is_an_absolute_program(asked: str, allowed: str) -> None:
    facts = command_facts([asked, "-c", "a; b"], "/h", [allowed], "/bin")
    assert facts == Facts(("/bin/sh", "-c", "a; b"), "/h")


def test_an_allowed_command_that_is_not_there() -> None:
    assert "not on this machine" in command_facts(["nonesuch"], "/h", ["nonesuch"], PATH).problems[0]


def test_a_name_on_the_list_does_not_allow_another_program_of_that_name(tmp_path: Path) -> None:
    fake = put(tmp_path, "git", mode=0o755)
    assert command_facts([str(fake)], "/h", ["git"], PATH).problems


def test_an_agent_job_says_that_it_cannot_run_yet(scripts: Path) -> None:
    assert "agent" in facts_for(a_job(agent=True, script=None, prompt="x"), str(scripts), [], PATH).problems[0]
