"""Each limit of a run, with programs that pass it: what is said, how soon it is over, and that nothing is left."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from horae.core.model import Order, Result
from horae.ports import Settings
from horae.runners.process import ProcessRunner
from tests.support.badprograms import MIB, alive, carry_out, order, python, run, run_as_nobody, sh
from tests.support.shims import gone

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root may become somebody else")
SLACK_S = 6.0  # a machine that is busy


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[ProcessRunner]:
    found = ProcessRunner(Settings(str(tmp_path / "home")))
    yield found
    found.close()


def ended(runner: ProcessRunner, what: Order, by: str, after_s: float) -> Result:
    """Carry it out. It ends by that limit, in time, with all of its tree, and says so."""
    began = time.monotonic()
    result = run(runner, what)
    took = time.monotonic() - began
    assert (result.ended_by or "by itself").startswith(by), result
    assert took < after_s + what.bounds.grace_s + SLACK_S
    assert result.used is not None
    assert result.used.proved, result
    assert 0 < result.used.wall_s <= took
    return result


# ── wall


def test_O7_wall_is_measured_from_the_start(runner: ProcessRunner) -> None:
    result = ended(runner, sh("echo up; exec sleep 600", wall_s=1.0), "wall limit of 1 second", 1)
    assert result.used is not None
    assert result.used.wall_s >= 1
    assert (result.signal, result.stdout, result.asked) == (signal.SIGTERM, "up\n", 1)


def test_O7_the_script_s_own_limit_is_named(runner: ProcessRunner) -> None:
    ended(runner, sh("sleep 600", wall_s=1.0, by_script=True), "script limit of 1 second", 1)


def test_O7_a_limit_that_is_reached_in_the_moment_of_the_end_leaves_one_true_end(runner: ProcessRunner) -> None:
    async def story() -> list[Result]:
        return [await carry_out(runner, sh("sleep 0.3", wall_s=0.3 + n * 0.0015)) for n in range(12)]

    for result in asyncio.run(story()):
        assert result.used is not None
        assert result.used.proved
        assert (result.exit_code == 0) or (result.signal == signal.SIGTERM and result.ended_by), result
        assert result.ended_by is None or result.ended_by.startswith("wall limit"), result


def test_O7_who_cleans_up_in_time_ends_by_itself_and_its_words_are_kept(runner: ProcessRunner) -> None:
    code = """
import signal, sys, time
def bye(*_):
    time.sleep(0.5)
    print("cleaned up", flush=True)
    sys.exit(4)
signal.signal(signal.SIGTERM, bye)
print("up", flush=True)
time.sleep(600)
"""
    result = ended(runner, python(code, wall_s=1.0, grace_s=20.0), "wall limit", -18)
    assert (result.exit_code, result.signal, result.stdout) == (4, None, "up\ncleaned up\n")


def test_O7_a_child_may_clean_up_after_the_main_process_has_died_at_term(runner: ProcessRunner, tmp_path: Path) -> None:
    child = f"trap 'sleep 0.7; echo tidy; : >{tmp_path}/tidy; exit 0' TERM; echo up; while :; do sleep 0.05; done"
    result = ended(runner, sh(f'sh -c "{child}" & exec sleep 600', wall_s=1.0, grace_s=20.0), "wall limit", -18)
    assert (result.signal, result.stdout, result.killed) == (signal.SIGTERM, "up\ntidy\n", ())
    assert (tmp_path / "tidy").exists()


def test_P7_O7_one_child_that_ignores_term_is_killed_and_named(runner: ProcessRunner) -> None:
    what = sh("setsid sh -c \"trap '' TERM; while :; do sleep 0.05; done\" & exec sleep 600", wall_s=1.0)
    result = ended(runner, what, "wall limit", 1)
    assert result.signal == signal.SIGTERM
    assert any("trap '' TERM" in name for name in result.killed), result.killed


# ── idle


def test_O6_O7_who_says_nothing_is_idle(runner: ProcessRunner) -> None:
    result = ended(runner, sh("echo up; sleep 600", idle_s=1.0), "idle limit of 1 second", 1)
    assert result.stdout == "up\n"


def test_O7_output_keeps_it_alive(runner: ProcessRunner) -> None:
    result = run(runner, sh("for n in 1 2 3 4 5 6 7 8; do sleep 0.3; echo $n >&2; done", idle_s=1.0))
    assert (result.ended_by, result.exit_code) == (None, 0)


def test_O7_a_beat_keeps_it_alive(runner: ProcessRunner) -> None:
    what = sh('for n in 1 2 3 4 5 6 7 8; do sleep 0.3; touch "$HORAE_BEAT"; done; echo done', idle_s=1.0)
    result = run(runner, what)
    assert (result.ended_by, result.stdout, result.files) == (None, "done\n", ())


def test_O6_O7_a_beat_that_stops_is_idle_again(runner: ProcessRunner) -> None:
    ended(runner, sh('sleep 0.7; touch "$HORAE_BEAT"; sleep 600', idle_s=1.0), "idle limit", 2)


@pytest.mark.parametrize("when", ["2099-01-01", "tomorrow", "+3 seconds", "1970-01-02"])
def test_O7_one_beat_of_another_time_does_not_keep_it_alive_for_ever(runner: ProcessRunner, when: str) -> None:
    """Its clock is wrong, or it was copied from elsewhere: what counts is that it was touched."""
    what = sh(f'touch -d "{when}" "$HORAE_BEAT"; sleep 600', idle_s=1.0, wall_s=9.0)
    ended(runner, what, "idle limit", 5)


@pytest.mark.parametrize("when", ["2099-01-01", "1970-01-02"])
def test_O7_beats_of_a_wrong_clock_are_beats(runner: ProcessRunner, when: str) -> None:
    beat = f'touch -d "{when} 00:00:$n" "$HORAE_BEAT"'
    what = sh(f"for n in 10 11 12 13 14 15 16 17; do sleep 0.3; {beat}; done; echo done", idle_s=1.0)
    result = run(runner, what)
    assert (result.ended_by, result.stdout) == (None, "done\n")


def test_O7_the_beat_of_an_earlier_run_is_not_the_next_one_s(runner: ProcessRunner) -> None:
    run(runner, sh('touch -d "2099-01-01" "$HORAE_BEAT"'))
    ended(runner, sh("sleep 600", idle_s=1.0, wall_s=9.0), "idle limit", 2)


@pytest.mark.parametrize("beat", ["mkdir", "mkfifo", "ln -s /proc/uptime"])
def test_O7_a_beat_that_is_no_file_harms_nothing(runner: ProcessRunner, beat: str) -> None:
    ended(runner, sh(f'{beat} "$HORAE_BEAT"; sleep 600', idle_s=1.0, wall_s=9.0), "idle limit", 5)
    assert run(runner, sh('touch "$HORAE_BEAT"; echo fine')).stdout == "fine\n"


def test_O7_who_stops_itself_is_idle_and_is_ended(runner: ProcessRunner) -> None:
    result = ended(runner, sh("echo up; kill -STOP $$; echo never", idle_s=1.0), "idle limit", 1)
    assert (result.stdout, result.signal) == ("up\n", signal.SIGTERM)


# ── output


def test_O7_who_prints_for_ever_is_ended(runner: ProcessRunner) -> None:
    result = ended(runner, sh("exec yes", output_bytes=MIB), "output limit of 1 MiB", 1)
    assert result.used is not None
    assert result.used.out_bytes > MIB
    assert len(result.stdout) < 70_000


def test_O7_who_prints_for_ever_and_ignores_term_fills_no_disk(runner: ProcessRunner, tmp_path: Path) -> None:
    what = sh("trap '' TERM; yes", output_bytes=MIB, grace_s=2.0)
    result = ended(runner, what, "output limit", 1)
    assert result.signal == signal.SIGKILL
    kept = tmp_path / "home" / "state" / "output" / what.run_id / "stdout"
    assert kept.stat().st_size < 10 * MIB, "what comes after the limit is not kept"


def test_O7_a_handler_of_term_that_prints_without_end_is_killed(runner: ProcessRunner) -> None:
    what = sh("trap 'yes' TERM; echo up; while :; do sleep 0.05; done", wall_s=1.0, output_bytes=MIB)
    result = ended(runner, what, "wall limit", 1)
    assert result.stdout.startswith("up\n")


def test_O7_both_streams_count(runner: ProcessRunner) -> None:
    what = sh("head -c 700000 /dev/zero; head -c 700000 /dev/zero >&2; sleep 600", output_bytes=MIB)
    ended(runner, what, "output limit", 2)


def test_O7_exactly_the_limit_is_allowed(runner: ProcessRunner) -> None:
    result = run(runner, sh(f"head -c {MIB} /dev/zero", output_bytes=MIB))
    assert (result.ended_by, result.exit_code) == (None, 0)


# ── memory


def test_O7_who_takes_memory_is_ended(runner: ProcessRunner) -> None:
    code = "import time\nkept = []\nwhile True:\n    kept.append(b'x' * (4 << 20)); time.sleep(0.02)"
    result = ended(runner, python(code, memory_bytes=100 * MIB, tight=True), "memory limit of 100 MiB", 3)
    assert result.used is not None
    assert 100 * MIB < (result.used.peak_bytes or 0) < 400 * MIB


def test_O7_memory_of_many_children_counts_together(runner: ProcessRunner) -> None:
    code = """
import os, time
for _ in range(5):
    if not os.fork():
        kept = b'x' * (40 << 20)
        time.sleep(600)
time.sleep(600)
"""
    ended(runner, python(code, memory_bytes=120 * MIB, tight=True), "memory limit", 3)


def test_O7_memory_that_is_shared_counts_once_and_is_told_once(runner: ProcessRunner) -> None:
    code = """
import os, time
kept = bytearray(b'x' * (80 << 20))
for _ in range(6):
    if not os.fork():
        time.sleep(2)
        os._exit(0)
for _ in range(6):
    os.wait()
"""
    result = run(runner, python(code, memory_bytes=250 * MIB, tight=True))
    assert (result.ended_by, result.exit_code) == (None, 0)
    assert result.used is not None
    assert (result.used.peak_bytes or 0) < 250 * MIB, "a peak above a limit that was kept"


def test_O7_who_wants_far_more_at_once_does_not_get_it(runner: ProcessRunner) -> None:
    """The kernel refuses it: no look could come in time."""
    result = run(runner, python("x = bytearray(4 << 30); print('got it')", memory_bytes=50 * MIB, tight=True))
    assert "got it" not in result.stdout
    assert result.exit_code == 1 or (result.ended_by or "").startswith("memory limit")


# ── CPU


def test_O7_who_is_busy_is_ended(runner: ProcessRunner) -> None:
    result = ended(runner, sh("while :; do :; done", cpu_s=1.0, tight=True), "cpu limit of 1 second", 3)
    assert result.used is not None
    assert 1 <= (result.used.cpu_s or 0) < 4


BURN = """
import os, time
def burn(s):
    until = time.process_time() + s
    while time.process_time() < until: pass
"""


def test_O7_cpu_of_children_that_have_ended_counts(runner: ProcessRunner) -> None:
    code = BURN + "while True:\n    if not os.fork():\n        burn(0.1); os._exit(0)\n    os.wait()"
    result = ended(runner, python(code, cpu_s=1.0, tight=True), "cpu limit", 4)
    assert result.used is not None
    assert 0.9 <= (result.used.cpu_s or 0) < 4


def test_O7_cpu_of_children_that_nobody_has_waited_for_counts(runner: ProcessRunner) -> None:
    code = """
for _ in range(60):
    if not os.fork():
        burn(0.1)
        os._exit(0)
    time.sleep(0.12)
time.sleep(5)
"""
    ended(runner, python(BURN + code, cpu_s=1.0, tight=True), "cpu limit", 6)


def test_O7_cpu_of_orphans_counts(runner: ProcessRunner) -> None:
    code = """
while True:
    if not os.fork():
        if not os.fork():
            os.setsid()
            burn(0.1)
        os._exit(0)
    os.wait()
    time.sleep(0.1)
"""
    ended(runner, python(BURN + code, cpu_s=1.0, tight=True), "cpu limit", 5)


def test_O7_a_busy_program_that_ignores_term_ends_too(runner: ProcessRunner) -> None:
    result = ended(runner, sh("trap '' TERM; while :; do :; done", cpu_s=1.0, tight=True), "cpu limit", 3)
    assert result.signal in (signal.SIGKILL, signal.SIGXCPU)


# ── processes

# Bounded, so that a test that fails does not take the machine with it; to its shim it looks like one without end.
BOMB_SH = "b() { [ $1 -gt 10 ] && exec sleep 30; b $(($1+1)) & b $(($1+1)) & wait; }; b 0"
BOMB_PYTHON = """
import mmap, os, time
count = mmap.mmap(-1, 8)
began = time.monotonic()
while time.monotonic() < began + 20:
    try:
        made = int.from_bytes(count[:4], "little") + 1
        if made > 6000: break
        count[:4] = made.to_bytes(4, "little")
        os.fork()
    except OSError:
        pass
time.sleep(20)
"""


@pytest.mark.parametrize("ignores", [False, True])
@pytest.mark.parametrize("bomb", ["sh", "python"])
def test_P7_O7_a_fork_bomb_is_ended(runner: ProcessRunner, bomb: str, ignores: bool) -> None:
    if bomb == "sh":
        what = sh("trap '' TERM; " * ignores + BOMB_SH, processes=50, tight=True)
    else:
        stubborn = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" * ignores
        what = python(stubborn + BOMB_PYTHON, processes=50, tight=True)
    ended(runner, what, "process limit of 50 processes", 8)


@AS_ROOT
def test_P7_O7_a_fork_bomb_of_somebody_else_is_ended_by_root(runner: ProcessRunner) -> None:
    argv = ("/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/bin/sh", "-c", BOMB_SH)
    ended(runner, order(*argv, processes=50, tight=True), "process limit", 8)


@AS_ROOT
def test_P7_O7_a_fork_bomb_is_ended_by_somebody_without_any_right(tmp_path: Path) -> None:
    orders = [sh(BOMB_SH, processes=50, tight=True), python(BOMB_PYTHON, processes=50, tight=True), sh("echo fine")]
    began = time.monotonic()
    *bombs, after = run_as_nobody(tmp_path, *orders)
    assert time.monotonic() - began < 45
    for what, result in zip(orders, bombs, strict=False):
        assert result["ended_by"].startswith("process limit of 50 processes"), result
        assert result["used"]["proved"]
        assert alive(what.run_id) == []
    assert after["stdout"] == "fine\n"


def test_O7_processes_that_have_ended_and_nobody_waits_for_count(runner: ProcessRunner) -> None:
    """They keep their numbers, of which a machine has not many."""
    code = "import os, time\nfor _ in range(400):\n    if not os.fork(): os._exit(0)\ntime.sleep(20)"
    ended(runner, python(code, processes=50, tight=True), "process limit", 4)


def test_O7_as_many_processes_as_allowed_are_allowed(runner: ProcessRunner) -> None:
    what = sh("for n in $(seq 40); do sleep 1.5 & done; wait; echo done", processes=50, tight=True)
    assert run(runner, what).stdout == "done\n"


# ── two of them, and afterwards


def test_O7_the_limit_that_comes_first_is_the_reason(runner: ProcessRunner) -> None:
    ended(runner, sh("while :; do :; done", wall_s=1.0, cpu_s=20.0, idle_s=15.0, tight=True), "wall limit", 1)
    ended(runner, sh("sleep 600", wall_s=20.0, idle_s=1.0), "idle limit", 1)
    one = run(runner, sh("sleep 600", wall_s=1.0, idle_s=1.0))
    assert (one.ended_by or "").startswith(("wall limit", "idle limit"))


def test_O7_during_the_grace_no_other_limit_takes_the_reason_s_place(runner: ProcessRunner) -> None:
    what = sh("trap 'yes' TERM; sleep 600 & wait; sleep 600", wall_s=1.0, output_bytes=MIB, idle_s=1.2, grace_s=1.0)
    ended(runner, what, "wall limit", 1)


def test_O7_the_same_shim_takes_the_next_run_after_each_limit(runner: ProcessRunner) -> None:
    ended(runner, sh("sleep 600", wall_s=0.5), "wall limit", 1)
    ended(runner, sh("exec yes", output_bytes=MIB), "output limit", 1)
    ended(runner, sh("while :; do :; done", cpu_s=0.5, tight=True), "cpu limit", 2)
    result = run(runner, sh("echo $PPID; nice"))
    assert result.stdout.split()[1] == "0", "it runs as everything does"
    policy = int(Path(f"/proc/{result.stdout.split()[0]}/stat").read_text().rsplit(") ", 1)[1].split()[38])
    assert policy == os.SCHED_OTHER, "a shim that had to hurry is calm again"
    assert not gone(int(result.stdout.split()[0]))
