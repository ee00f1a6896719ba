"""An agent's process: what of its shim is left in it (nothing), which of its lines are kept, and the walls of its programs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from horae.agents.walls import behind
from horae.runners.shim import agent
from horae.runners.shim.agent import EVENTS_BYTES_MAX, FAULT, Agent, Events, fork_agent
from horae.runners.shim.behind import PYTHON
from horae.runners.shim.landlock import version
from horae.runners.shim.run import DEFAULTS
from horae.runners.shim.spool import EVENT, PAYLOAD_BYTES_MAX, records

WALLS = version() > 0
IN_S = 60


# ── lines


def kept(*chunks: bytes) -> list[bytes]:
    """The payloads of the records that come of it."""
    events = Events()
    for chunk in chunks:
        events.feed(chunk)
    found = [(kind, payload) for record in events.fresh() for kind, payload, _ in records(record)]
    assert {kind for kind, _ in found} <= {EVENT}
    assert events.any is bool(found)
    assert events.fresh() == []
    return [payload for _, payload in found]


def test_a_line_is_a_record_and_what_is_not_ended_is_none() -> None:
    assert kept(b'{"a":1}\n{"b":2}\n\n{"c"') == [b'{"a":1}', b'{"b":2}']
    assert kept(b"") == []
    assert kept(b"\xff\0\n") == [b"\xff\0"]


def test_what_was_fetched_is_not_told_again_and_a_line_may_come_in_parts() -> None:
    events = Events()
    events.feed(b"on")
    assert events.fresh() == []
    events.feed(b"e\ntw")
    assert [payload for _, payload, _ in records(b"".join(events.fresh()))] == [b"one"]
    events.feed(b"o\n")
    assert [payload for _, payload, _ in records(b"".join(events.fresh()))] == [b"two"]


@pytest.mark.parametrize("over", [-1, 0, 1, PAYLOAD_BYTES_MAX])
def test_a_line_that_no_record_holds_is_left_out_and_the_next_ones_come(over: int) -> None:
    long = b"x" * (PAYLOAD_BYTES_MAX + over)
    whole = b"before\n" + long + b"\nafter\nlast\n"
    wanted = [b"before", *([long] if over <= 0 else []), b"after", b"last"]
    assert kept(whole) == wanted
    for size in (65536, PAYLOAD_BYTES_MAX + 1, 99_991):
        assert kept(*(whole[at : at + size] for at in range(0, len(whole), size))) == wanted


def test_more_than_the_most_is_left_out_and_what_still_fits_comes() -> None:
    block = b"x" * (PAYLOAD_BYTES_MAX - 1)
    count = EVENTS_BYTES_MAX // len(block)
    found = kept(*([block + b"\n"] * (count + 3)), b"the end\n")
    assert found == [block] * count + [b"the end"]
    assert sum(map(len, found)) <= EVENTS_BYTES_MAX


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 40) | st.integers(90, 110) | st.just(1000), max_size=30),
    st.lists(st.integers(1, 300), max_size=40),
)
def test_which_lines_are_kept_does_not_depend_on_how_they_arrive(lengths: list[int], sizes: list[int]) -> None:
    with pytest.MonkeyPatch.context() as small:
        small.setattr(agent, "PAYLOAD_BYTES_MAX", 100)
        small.setattr(agent, "EVENTS_BYTES_MAX", 700)
        lines = [bytes([65 + number % 26]) * length for number, length in enumerate(lengths)]
        whole = b"".join(line + b"\n" for line in lines)
        cuts = [0]
        for size in sizes:
            cuts.append(min(len(whole), cuts[-1] + size))
        at_once = kept(whole)
        assert kept(*(whole[a:b] for a, b in pairwise([*cuts, len(whole)]))) == at_once
        assert kept(*(whole[at : at + 1] for at in range(len(whole)))) == at_once
        total, wanted = 0, list[bytes]()
        for line in lines:
            if 0 < len(line) <= 100 and total + len(line) <= 700:
                total, wanted = total + len(line), [*wanted, line]
        assert at_once == wanted


# ── the fork


BESIDE = """
import fcntl, json, os, signal, sys
from horae.runners.shim import agent
from horae.runners.shim.run import DEFAULTS

def seen(task, fd):
    kept = {}
    for number in os.listdir("/dev/fd") if not os.path.isdir("/proc/self/fd") else os.listdir("/proc/self/fd"):
        try:
            kept[number] = [os.readlink(f"/proc/self/fd/{number}"), fcntl.fcntl(int(number), fcntl.F_GETFD)]
        except OSError:
            continue
    os.write(fd, json.dumps({
        "kind": "seen", "task": task, "fd": fd, "fds": kept, "env": dict(os.environ), "leader": os.getsid(0) == os.getpid(),
        "handlers": {name.name: str(signal.getsignal(name)) for name in (*DEFAULTS, signal.SIGUSR1)},
        "masked": len(signal.pthread_sigmask(signal.SIG_BLOCK, [])), "wakeup": signal.set_wakeup_fd(-1),
        "stdin": os.read(0, 10).decode(),
    }).encode() + b"\\n")
    sys.stdout.write("the answer")
    sys.stderr.write("some trouble")
    return 7

def raises(task, fd):
    raise RuntimeError("it broke")

def leaves(task, fd):
    sys.exit(3)

def answers_nobody(task, fd):
    os.close(1)
    sys.stdout.write("lost")
    return 0

def cannot_say(task, fd):
    os.close(2)
    sys.stderr = open(os.open(os.devnull, os.O_RDONLY), "w")
    sys.stderr.write("lost")
    return 5

def told_nobody(task, fd):
    read, write = os.pipe()
    os.close(read)
    try:
        os.write(write, b"x")
    except BrokenPipeError:
        return 11

def begins(task, fd):
    import subprocess
    asks = "import os, signal; os.listdir('/proc/self/fd'); print(sorted(map(int, os.listdir('/proc/self/fd'))))"
    asks += "; print(open('/proc/self/status').read().split('SigIgn:')[1].split()[0])"
    sys.stdout.write(subprocess.run([sys.executable, "-IS", "-c", asks], stdout=subprocess.PIPE, text=True).stdout)
    return 0

os.environ["OF_THE_SHIM"] = "hunter2"
signal.signal(signal.SIGTERM, lambda *_: None)
read, write = os.pipe()
os.set_blocking(write, False)
signal.set_wakeup_fd(write)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
spool = os.open(os.devnull, os.O_WRONLY)
os.set_inheritable(spool, True)
high = fcntl.fcntl(spool, fcntl.F_DUPFD, 700)

agent.Agent.work = globals()[sys.argv[1]]
opened, ends = [], []
for _ in range(3):
    r, w = os.pipe()
    opened.append(r); ends.append(w)
pid = agent.fork_agent({"run": "r1"}, json.loads(sys.argv[2]), ends, DEFAULTS)
for fd in ends:
    os.close(fd)
texts = [open(fd, "rb").read().decode() for fd in opened]
_, status = os.waitpid(pid, 0)
print(json.dumps({"texts": texts, "status": os.waitstatus_to_exitcode(status), "alive": True}))
"""
ENV = {"PATH": "/usr/bin:/bin", "HORAE_RUN_ID": "r1", "WITH": "é=\n"}


def forked(work: str) -> dict[str, Any]:
    """What comes of a fork whose agent is one of those functions."""
    argv = [sys.executable, "-X", "utf8", "-c", textwrap.dedent(BESIDE), work, json.dumps(ENV)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=IN_S, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_nothing_of_the_shim_is_left_in_it() -> None:
    came = forked("seen")
    out, err, told = came["texts"]
    assert (out, err, came["status"]) == ("the answer", "some trouble", 7)
    seen = json.loads(told)
    assert (seen["task"], seen["fd"], seen["leader"], seen["stdin"]) == ({"run": "r1"}, 3, True, "")
    assert seen["env"] == ENV
    assert (seen["masked"], seen["wakeup"]) == (0, -1)
    assert sorted(seen["fds"]) == ["0", "1", "2", "3"]
    assert seen["fds"]["0"][0] == os.devnull
    assert len({seen["fds"][number][0] for number in "123"}) == 3
    assert {number: flags for number, (_, flags) in seen["fds"].items()} == {"0": 0, "1": 0, "2": 0, "3": 1}


def test_signals_are_as_any_python_has_them() -> None:
    handlers = json.loads(forked("seen")["texts"][2])["handlers"]
    ignored = {name for name, handler in handlers.items() if handler == str(signal.SIG_IGN)}
    assert ignored == {"SIGPIPE", "SIGXFSZ"}
    assert {handler for name, handler in handlers.items() if name not in ignored} == {str(signal.SIG_DFL)}


def test_who_is_gone_is_an_error_of_the_call() -> None:
    assert forked("told_nobody")["status"] == 11


def test_what_it_starts_cannot_tell_anything_and_has_the_usual_signals() -> None:
    fds, ignored = forked("begins")["texts"][0].splitlines()
    assert json.loads(fds) == [0, 1, 2, 3]  # the last one is that of the folder that it lists
    usual = {number for number in DEFAULTS if int(ignored, 16) >> (number - 1) & 1}
    assert usual <= {signal.SIGPIPE, signal.SIGXFSZ}  # which any Python ignores
    ours = int(Path("/proc/self/status").read_text().split("SigIgn:")[1].split()[0], 16)
    left = int(ignored, 16) & ~ours  # what whoever started us ignores is not ours to judge
    assert left & ~(1 << (signal.SIGPIPE - 1) | 1 << (signal.SIGXFSZ - 1)) == 0


@pytest.mark.parametrize(("work", "says"), [("raises", "RuntimeError: it broke"), ("leaves", "SystemExit: 3")])
def test_what_is_raised_ends_it_with_a_status_of_its_own(work: str, says: str) -> None:
    came = forked(work)
    assert (came["status"], came["texts"][0], came["texts"][2]) == (FAULT, "", "")
    assert says in came["texts"][1]


def test_an_answer_that_could_not_be_handed_on_is_no_success() -> None:
    assert forked("answers_nobody")["status"] == FAULT


def test_it_ends_even_where_it_cannot_say_why() -> None:
    came = forked("cannot_say")
    assert (came["status"], came["texts"]) == (5, ["", "", ""])


def test_a_shim_without_an_agent_says_so_and_forks_nothing() -> None:
    assert Agent.work is None
    with pytest.raises(ValueError, match="none loaded"):
        fork_agent({}, {}, [], [])


# ── walls


def walled(tmp_path: Path, script: str, *, argv: list[str] | None = None, own: str = "state/spool/g-1.d") -> Any:
    """A shell script behind the walls of a home, as an agent's process starts it."""
    home = tmp_path / "home"
    for name in ("jobs", "state/spool/g-1.d"):
        (home / name).mkdir(parents=True, exist_ok=True)
    (home / "secrets.toml").write_text('TOKEN = "correct-horse"\n')
    (tmp_path / "free").mkdir(exist_ok=True)
    words = behind({"home": str(home), "own": [str(home / own)], "hidden": [str(home / "secrets.toml")]})
    env = {"H": str(home), "F": str(tmp_path / "free"), "PATH": "/usr/bin:/bin"}
    command = [*words, *(argv or ["/bin/sh", "-c", script])]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=IN_S, check=False, cwd=tmp_path)


def test_without_walls_there_are_no_words_before_a_program() -> None:
    assert behind(None) == []
    assert behind({"home": "/h", "own": [], "hidden": []})[:-1] == [*PYTHON]


@pytest.mark.skipif(not WALLS, reason="this kernel has no Landlock")
@pytest.mark.parametrize(
    "script",
    [
        "echo x > $H/jobs/evil.md",
        "echo x > $H/config.toml",
        "mkdir $H/scripts",
        "rm $H/secrets.toml",
        "cat $H/secrets.toml",
        "ln $H/secrets.toml $F/copy",
        "mv $H/jobs $F/jobs",
        "/bin/sh -c '/bin/sh -c \"cat $H/secrets.toml\"'",
        "cd $H/state/spool/g-1.d && cat ../../../secrets.toml",
    ],
)
def test_a_program_is_kept_out_of_the_home(tmp_path: Path, script: str) -> None:
    done = walled(tmp_path, script)
    assert done.returncode not in (0, 126, 127), done
    assert "correct-horse" not in done.stdout
    assert sorted(path.name for path in (tmp_path / "home").iterdir()) == ["jobs", "secrets.toml", "state"]
    assert not list((tmp_path / "home" / "jobs").iterdir())


def test_it_may_work_in_its_own_folder_and_beside_the_home(tmp_path: Path) -> None:
    done = walled(
        tmp_path, "echo a > $H/state/spool/g-1.d/a && echo b > $F/b && cat $H/state/spool/g-1.d/a $F/b; exit 9"
    )
    assert (done.returncode, done.stdout, done.stderr) == (9, "a\nb\n", "")


def test_a_program_that_is_not_there_is_said_as_shells_say_it(tmp_path: Path) -> None:
    done = walled(tmp_path, "", argv=["no-such-program-here"])
    assert (done.returncode, done.stdout) == (127, "")
    assert done.stderr == "no-such-program-here: No such file or directory\n"


def test_its_arguments_environment_and_signals_are_what_they_were(tmp_path: Path) -> None:
    done = walled(
        tmp_path,
        "",
        argv=["/bin/sh", "-c", 'printf "%s|" "$@"; env | cut -d= -f1 | sort | tr "\\n" " "', "sh", "a b", "", "é"],
    )
    args, names = done.stdout.rsplit("|", 1)
    assert args == "a b||é"
    of_shells_and_locales = {"PWD", "_", "SHLVL", "OLDPWD", "LC_CTYPE"}
    assert {"F", "H", "PATH"} <= set(names.split()) <= {"F", "H", "PATH"} | of_shells_and_locales
    loud = walled(tmp_path, "yes | head -n 1")  # who ignores SIGPIPE complains
    assert (loud.stdout, loud.stderr) == ("y\n", "")
