"""What a person sees: tables that fit, colours only where they belong, no moved cursor, a clean Ctrl-C."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pexpect
import pyte
import pytest

from horae.core.text import display_width
from tests.support.process import TestHome, new_home, running, until

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
NAMES = ("Plain", "日本語のジョブの長い名前です", "Crème brûlée", "🎉 party 🎉", "عربي", "e\u0301toile")


def terminal(
    home: TestHome, *words: str, columns: int = 80, env: Mapping[str, str] | None = None
) -> tuple[list[str], str]:
    """What a terminal shows after a command, line by line, and every byte that it was sent."""
    program, *rest = home.words(*words)
    child = pexpect.spawn(
        program,
        rest,
        env=home.environment({"TERM": "xterm-256color", **(env or {})}),
        dimensions=(50, columns),
        encoding="utf-8",
        timeout=20,
    )
    sent = child.read()
    child.close()
    screen = pyte.Screen(columns, 50)
    pyte.Stream(screen).feed(sent)
    return [line.rstrip() for line in screen.display], sent


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> TestHome:
    """A home with jobs in several states and names of several widths, and a run of each kind. Only looked at."""
    home = new_home(tmp_path_factory.mktemp("busy") / "home")
    home.script("fails.sh", "echo oops; exit 3\n")
    for name in NAMES:
        home.json("add", "weekdays at 9am", "--script", "fails.sh" if name == "Plain" else "hi.sh", "--name", name)
    home.write("broken", schedule="every blue moon", script="hi.sh")
    with running(home):
        for name in NAMES:
            home.json("run", name, "--wait", status=None)
        home.json("pause", "plain", "--reason", "日本語 " * 20)
    return home


@pytest.mark.parametrize("columns", [80, 40])
def test_tables_fit_and_line_up(busy: TestHome, columns: int) -> None:
    for words in (("list",), ("runs",)):
        lines, sent = terminal(busy, *words, columns=columns)
        rows = [ESCAPE.sub("", line).rstrip("\r") for line in sent.split("\n")]
        table = [row for row in rows if row and not row.startswith(("broken:", "more", "no gateway", "  "))]
        if words == ("list",):
            assert table[0].startswith("JOB")
        wide = [row for row in table if display_width(row) > columns]
        assert not wide, (words, columns, wide)
        head = table[0]
        at = head.index("STATE")
        for row in table[1:8]:  # the state's column begins in the same cell in every row
            before = 0
            for index in range(len(row) + 1):
                if display_width(row[:index]) == at:
                    before = index
            assert re.match(r"active|paused|quarantined|completed|failed|…|[a-z]+…", row[before:]), (row, at)
        assert lines[0]


def test_colours_are_for_terminals_that_want_them(busy: TestHome) -> None:
    for words in (("list",), ("runs",), ("doctor",), ("why", "plain"), ("show", "plain")):
        _, sent = terminal(busy, *words)
        assert ESCAPE.search(sent), words
        for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            _, sent = terminal(busy, *words, env=env)
            assert "\x1b" not in sent, (words, env)
        piped = busy.horae(*words, status=None)
        assert "\x1b" not in piped.out + piped.err


def test_a_pipe_gets_plain_lines_with_tabs(busy: TestHome) -> None:
    lines = busy.horae("list").out.splitlines()
    assert len(lines) == len(NAMES) + 1
    assert {line.count("\t") for line in lines} == {6}
    assert {line.count("\t") for line in busy.horae("runs").out.splitlines()} == {8}


@pytest.mark.parametrize("columns", [80, 40])
def test_everything_can_be_looked_at_on_a_narrow_screen(busy: TestHome, columns: int) -> None:
    run_id = busy.runs()[0]["id"]
    looks = (
        ("status",),
        ("why", "plain"),
        ("show", "plain"),
        ("next",),
        ("log", run_id),
        ("doctor",),
        ("--help",),
        ("add", "--help"),
    )
    for words in looks:
        lines, sent = terminal(busy, *words, columns=columns)
        assert any(lines), words
        assert "Traceback" not in sent
        if "--help" in words and len(words) > 1:
            assert max(display_width(line) for line in sent.splitlines()) <= columns


def test_what_a_program_prints_does_not_move_the_cursor(home: TestHome) -> None:
    hostile = r"printf 'a\033[2J\033[1;1Hb\033]0;title\007c\rd\bx\302\233 31m\342\200\256e\n'"
    hostile += r"; printf '\033[31merr' >&2; exit 1"
    home.script("hostile.sh", hostile + "\n")
    home.json("add", "every 1h", "--script", "hostile.sh", "--name", "Hostile")
    home.file("hostile").write_text(home.file("hostile").read_text() + "\nprompt \x1b[2J with \u202e escapes\n")
    with running(home) as gateway:
        run_id = home.json("run", "hostile", "--wait", status=1)["run"]["id"]
        looks = (
            ("log", run_id),
            ("log", run_id, "--follow"),
            ("runs",),
            ("why", "hostile"),
            ("show", "hostile"),
            ("list",),
            ("status",),
        )
        for words in (*looks, ("run", "hostile", "--wait")):
            _, sent = terminal(home, *words)
            left = ESCAPE.sub("", sent)
            assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", left), (
                words,
                left,
            )
            assert "\r" not in left.replace("\r\n", ""), words
        assert "\x1b" not in gateway.said()
    assert "\x1b[2J" in home.horae("log", run_id).out  # a pipe gets what was printed
    assert "\x1b" not in (home.path / "state" / "horae.log").read_text()


def test_errors_are_cleaned_too(home: TestHome) -> None:
    for words in (
        ("show", "\x1b[2Jx"),
        ("add", "\x1b[31m", "--script", "hi.sh"),
        ("\x1b[2J",),
        ("list", "--\x1b[2J"),
        ("log", "\u202ex"),
    ):
        _, sent = terminal(home, *words)
        assert not re.search(r"[\x1b\u202e]", ESCAPE.sub("", sent).replace("\x1b[31m", "")), (words, sent)


def test_a_reader_that_has_seen_enough_is_no_error(home: TestHome) -> None:
    for number in range(60):
        home.write(f"job-{number:02}", script="hi.sh", name="x" * 150)
    home.json("list")
    program = " ".join(home.words())
    for command in (
        f"{program} list | head -1",
        f"{program} --json list | head -1",
        f"{program} --help | true",
        f"{program} list >&-",
    ):
        done = subprocess.run(
            ["bash", "-c", command], env=home.environment(), capture_output=True, text=True, check=False, timeout=30
        )
        assert done.stderr == "" or "Traceback" not in done.stderr, (command, done.stderr)
        assert "Exception" not in done.stderr, done.stderr
        assert "Error" not in done.stderr.replace("error:", ""), done.stderr


def test_ctrl_c_stops_a_gateway_cleanly(home: TestHome) -> None:
    home.write("fast", schedule="every 1s", script="hi.sh")
    program, *words = home.words("up")
    child = pexpect.spawn(
        program, words, env=home.environment({"TERM": "xterm"}), encoding="utf-8", timeout=20, dimensions=(50, 100)
    )
    child.expect("ready")
    child.expect(r"✓ fast  completed .* hi")
    child.sendintr()
    child.expect("stopping: nothing new starts")
    child.expect("stopped")
    child.expect(pexpect.EOF)
    child.close()
    assert (child.exitstatus, child.signalstatus) == (0, None)
    assert "Traceback" not in (child.before or "")


def test_ctrl_c_in_a_command_that_waits(home: TestHome) -> None:
    home.script("hold.sh", 'while [ ! -e "$HORAE_HOME/go" ]; do sleep 0.05; done\n')
    home.json("add", "every 1h", "--script", "hold.sh", "--name", "Hold")
    with running(home):
        program, *words = home.words("run", "hold", "--wait")
        child = pexpect.spawn(program, words, env=home.environment(), encoding="utf-8", timeout=20)
        until(lambda: home.runs("--state", "running"), "it runs")
        child.sendintr()
        said = child.read()
        child.close()
        assert child.exitstatus == 130
        assert "Traceback" not in said
        assert home.runs()[0]["state"] == "running"  # the run goes on without whoever waited for it
        (home.path / "go").touch()
        assert home.ended(home.runs()[0]["id"])["state"] == "completed"


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_the_size_of_the_output_is_no_matter(home: TestHome, tmp_path: Path, unbuffered: str) -> None:
    env = home.environment({"PYTHONUNBUFFERED": unbuffered})
    with (tmp_path / "full").open("w") as sink:
        done = subprocess.run(home.words("list"), env=env, stdout=sink, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 0
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            home.words("--help"), env=env, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert "Traceback" not in done.stderr
    assert "No space left" in done.stderr
    assert done.returncode == 1
