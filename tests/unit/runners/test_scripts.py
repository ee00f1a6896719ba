"""Which program a job means: inside its folder only, by shebang or ending, commands only from the list (U15)."""

from __future__ import annotations

import builtins
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from horae.core.preflight import Facts
from horae.errors import Exhausted
from horae.runners import scripts as scripts_module
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


# ── what would end the scheduler


def test_a_script_that_would_stop_the_scheduler_is_not_started(scripts: Path) -> None:
    put(scripts, "a.sh", "#!/bin/sh\n# horae up\necho hi\nsystemctl --user restart horae\npkill horae\n")
    facts = look(scripts, "a.sh")
    would = "would stop, restart or replace the scheduler that runs it; edit the script"
    assert facts.argv == ()
    assert facts.problems == (
        f"script a.sh, line 4: `systemctl --user restart horae` {would}",
        f"script a.sh, line 5: `pkill horae` {would}",
    )


def test_a_script_is_looked_at_again_when_it_has_changed(scripts: Path) -> None:
    put(scripts, "a.sh", "echo horae is up\n")
    assert look(scripts, "a.sh").problems == ()
    put(scripts, "a.sh", "echo; horae up; id\n")  # as long as before
    assert "line 1" in look(scripts, "a.sh").problems[0]
    put(scripts, "a.sh", "#!/no/such/thing\n")
    assert "interpreter" in look(scripts, "a.sh").problems[0]
    put(scripts, "a.sh", "echo hi\n")
    assert look(scripts, "a.sh").problems == ()


def test_it_is_read_once(scripts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(scripts, "a.sh", "echo hi\n")
    first = look(scripts, "a.sh")
    monkeypatch.setattr(builtins, "open", None)
    assert look(scripts, "a.sh") == first


def test_a_program_and_text_that_is_no_utf8_are_taken(scripts: Path) -> None:
    put(scripts, "tool", b"\x7fELF\0\0\nhorae up\n", mode=0o755)
    assert look(scripts, "tool").problems == ()
    put(scripts, "latin.sh", b"#!/bin/sh\necho \xe9t\xe9\nhorae up\n")
    assert "line 3" in look(scripts, "latin.sh").problems[0]


def test_a_command_that_would_stop_the_scheduler_is_not_started() -> None:
    (problem,) = command_facts(["sh", "-c", "sleep 1; horae up"], "/h", ["sh"], PATH).problems
    assert problem.startswith("command: `horae up` would stop")
    assert "edit the job's `command`" in problem
    assert command_facts(["sh", "-c", "horae list"], "/h", ["sh"], PATH).problems == ()


def test_a_machine_without_room_is_no_fault_of_the_scripts(scripts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(scripts, "a.sh")

    def full(*args: Any, **kwargs: Any) -> Any:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(builtins, "open", full)
    with pytest.raises(Exhausted):
        look(scripts, "a.sh")


# ── Python that names packages

BLOCK = '# /// script\n# requires-python = ">=3.8"\n# dependencies = [\n#   "rich",\n# ]\n# ///\n'
BARE = "# /// script\n# dependencies = []\n# ///\n"


@pytest.fixture
def uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One that says how it was called; the real one, which may be beside this Python, is out of sight."""
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nowhere" / "python"))
    (tmp_path / "bin").mkdir()
    return put(tmp_path / "bin", "uv", '#!/bin/sh\necho "uv $@"\n', mode=0o755)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", BLOCK),
        ("a.py", BARE),
        ("a.py", "import os\n\n" + BLOCK),
        ("a.py", BLOCK.replace("\n", "\r\n")),
        ("a.py", "#!/usr/bin/env python3\n" + BLOCK),
        ("a", "#!/usr/bin/python3.12 -u\n" + BLOCK),
        ("a.py", "# /// script\n# ///\n"),
    ],
)
def test_a_script_with_a_block_is_started_by_uv(scripts: Path, uv: Path, name: str, text: str) -> None:
    file = put(scripts, name, text)
    for path in (f"{uv.parent}:/bin", f"/bin:{uv.parent}"):
        assert look(scripts, name, path).argv == (str(uv), "run", "--script", "--quiet", str(file))


def test_uv_beside_the_python_of_horae_will_do(scripts: Path, uv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(scripts, "a.py", BLOCK)
    monkeypatch.setattr(sys, "executable", str(uv.parent / "python"))
    assert look(scripts, "a.py").argv[0] == str(uv)


def test_a_shebang_that_names_uv_keeps_its_words(scripts: Path, uv: Path) -> None:
    file = put(scripts, "a", "#!/usr/bin/env -S uv run --script --with rich\nprint(1)\n")
    path = f"{uv.parent}:/bin"
    assert look(scripts, "a", path).argv == (str(uv), "run", "--script", "--with", "rich", str(file))
    (problem,) = look(scripts, "a").problems
    assert "its #! line needs uv, which is not on this machine" in problem


def test_without_uv_packages_block_and_none_do_not(scripts: Path, uv: Path) -> None:
    put(scripts, "a.py", BLOCK)
    (problem,) = look(scripts, "a.py").problems
    assert problem.startswith("script a.py: the packages that it names (rich) need uv, which is not on this machine")
    assert "pip install uv" in problem
    for text in (BARE, "#!/usr/bin/env -S uv run --script\n" + BARE):
        file = put(scripts, "a.py", text)
        assert look(scripts, "a.py").argv == (sys.executable, str(file))


@pytest.mark.parametrize(
    "text",
    [
        "print(1)\n",
        "# /// script\n# dependencies = ['rich']\n",
        "# /// script\nprint(1)\n# ///\n",
        "# /// other\n# dependencies = ['rich']\n# ///\n",
        " # /// script\n # ///\n",
        "'# /// script'\n# ///\n",
        "#/// script\n# ///\n",
    ],
)
def test_what_is_no_block_is_started_as_ever(scripts: Path, uv: Path, text: str) -> None:
    file = put(scripts, "a.py", text)
    expected = scripts_module.BY_ENDING[".py"]
    assert look(scripts, "a.py", f"{uv.parent}:/bin").argv == (*expected, str(file))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("# /// script\n# dependencies = [\n# ///\n", "is not TOML"),
        ("# /// script\n# dependencies = 'rich'\n# ///\n", "must be a list of texts"),
        ("# /// script\n# dependencies = [1]\n# ///\n", "must be a list of texts"),
        ("# /// script\n# a = " + "[" * 5000 + "\n# ///\n", "is not TOML"),
    ],
)
def test_a_broken_block_is_said(scripts: Path, uv: Path, text: str, says: str) -> None:
    put(scripts, "a.py", text)
    (problem,) = look(scripts, "a.py", f"{uv.parent}:/bin").problems
    assert problem.startswith("script a.py: ")
    assert says in problem


def test_a_block_in_a_script_of_another_language_is_a_comment(scripts: Path, uv: Path) -> None:
    file = put(scripts, "a.sh", "#!/bin/sh\n" + BLOCK)
    assert look(scripts, "a.sh", f"{uv.parent}:/bin").argv == ("/bin/sh", str(file))


def test_the_block_ends_with_its_last_line_of_slashes(scripts: Path, uv: Path) -> None:
    put(scripts, "a.py", "# /// script\n# dependencies = ['x']\n# ///\n# a = 1\n# ///\n")
    assert "is not TOML" in look(scripts, "a.py").problems[0]
    put(scripts, "a.py", "# /// script\n# dependencies = ['x']\n# ///\n\n# ///\n")
    assert "(x) need uv" in look(scripts, "a.py").problems[0]


def test_the_real_uv_runs_one_without_packages(scripts: Path, tmp_path: Path) -> None:
    """Offline, with this very Python: only that uv takes our words."""
    real = scripts_module.beside(sys.executable, "uv")
    if real is None:
        pytest.skip("no uv beside this Python")
    put(scripts, "a.py", "# /// script\n# dependencies = []\n# ///\nimport sys\nprint('said', sys.argv[1:])\n")
    facts = look(scripts, "a.py")
    assert facts.argv[:4] == (real, "run", "--script", "--quiet")
    env = {
        "PATH": PATH, "HOME": str(tmp_path), "UV_CACHE_DIR": str(tmp_path / "cache"), "UV_OFFLINE": "1",
        "UV_PYTHON": sys.executable, "UV_PYTHON_DOWNLOADS": "never",
    }  # fmt: skip
    done = subprocess.run(facts.argv, env=env, cwd=facts.cwd, capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.stderr, done.returncode) == ("said []\n", "", 0)


# ── its folder and its secrets


def test_a_workdir_is_where_it_starts(scripts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(scripts, "tides.sh")
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    for said in (str(tmp_path / "data"), "~/data"):
        facts = facts_for(a_job(workdir=said), str(scripts), [], PATH)
        assert (facts.cwd, facts.problems) == (str(tmp_path / "data"), ())
        assert facts.argv[-1] == str(scripts / "tides.sh")
    job = a_job(script=None, command=("sh", "-c", "true"), workdir="~/data")
    assert facts_for(job, "/h", ["sh"], PATH).cwd == str(tmp_path / "data")


def test_a_workdir_that_is_no_folder_blocks(scripts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(scripts, "tides.sh")
    put(tmp_path, "file")
    monkeypatch.setenv("HOME", str(tmp_path))
    for said, shown in (("/no/such", "/no/such is"), ("~/file", f"~/file is not a folder ({tmp_path}/file)")):
        (problem,) = facts_for(a_job(workdir=said), str(scripts), [], PATH).problems
        assert problem.startswith(f"workdir {shown}")
    problems = facts_for(a_job("none", workdir="/no/such"), str(scripts), [], PATH).problems
    assert len(problems) == 2


def test_secrets_are_looked_up_and_what_is_missing_blocks(scripts: Path) -> None:
    put(scripts, "tides.sh")
    asked: list[Any] = []

    def lookup(names: Any) -> Any:
        asked.append(names)
        return {"A": "1"}, ("secret B has no value",)

    facts = facts_for(a_job(secrets=("A", "B")), str(scripts), [], PATH, secrets=lookup)
    assert (facts.secrets, facts.problems) == ({"A": "1"}, ("secret B has no value",))
    assert facts_for(a_job(), str(scripts), [], PATH, secrets=lookup).problems == ()
    assert asked == [("A", "B")]
    assert len(facts_for(a_job(secrets=("A",)), str(scripts), [], PATH).problems) == 1
