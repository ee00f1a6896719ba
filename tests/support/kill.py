"""Real gateways that are killed, or stand still past their lease, at a named step; and what became of their work.

A round is a burst of jobs that come due at one instant. Each job's program adds a line to a file, so that what happened
can be told from what is on record:

- right: one line, and the record says that it completed
- unknown: the record says that nobody knows, which is so: its shim ended with its gateway, or it was about to begin
- needless: the same, although its shim was there to tell
- lost: no line, and no word that it may not have run
- twice: more than one line
- stuck: something of it is open although a sound gateway has had its time
- false: recorded as completed, and there is no line

Only the first two are right. The same is counted of messages to `desk`, a target that needs sending (`doomed.py`).

Each round's gateway takes over what the last one left, and is told where to die only when nothing is open any more. Where
the store is shared, a second gateway lives beside it on a machine of its own.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from horae.app.reload import reload
from horae.runners.shim.tree import children
from horae.wiring.assembly import assemble
from tests.support.process import Gateway, TestHome, finish, new_home, until
from tests.support.shared import SharedHome, shared_home, with_options
from tests.support.shims import parent_of, shims

DOOMED = Path(__file__).with_name("doomed.py")
ROOT = DOOMED.parents[2]
LEASE_S = 3.0
AHEAD_S = 0.35  # from writing a burst to its instant: the gateway must have taken it in
PARALLEL = 3
TRIES = 5  # bursts until a gateway comes by where it is to be hit
TAKES = {"line": "0", "slow": "0.3", "long": "1"}  # seconds
KINDS = ("right", "unknown_ran", "unknown_not", "lost", "twice", "stuck", "false")
WRONG = ("needless", "lost", "twice", "stuck", "false", "sent twice", "sent falsely", "never sent")
JOB = """---
id: {id}
name: {slug}
schedule: {due}
timezone: UTC
agent: false
script: {script}
deliver: [{targets}]
---
"""
SLOTS = """
SELECT j.slug, o.key, o.state, o.outcome FROM job j LEFT JOIN occurrence o ON o.job_id = j.id WHERE j.slug LIKE ?
"""
RUNS = "SELECT r.id, r.key, r.attempt, r.state FROM run r JOIN job j ON j.id = r.job_id WHERE j.slug LIKE ?"
SENT = """
SELECT d.run_id, d.state FROM delivery d JOIN run r ON r.id = d.run_id JOIN job j ON j.id = r.job_id
WHERE d.target = 'desk' AND j.slug LIKE ?
"""
OPEN = """
SELECT (SELECT count(*) FROM run WHERE state IN ('claimed', 'running'))
     + (SELECT count(*) FROM delivery WHERE state IN ('pending', 'sending'))
     + (SELECT count(*) FROM occurrence WHERE state = 'claimed' OR (state = 'planned' AND due_at <= ?))
"""


@dataclass(frozen=True)
class Point:
    """Where a gateway is hit."""

    step: str
    when: str
    signal: str = "SIGKILL"
    nth: int = 1

    def __str__(self) -> str:
        return f"{self.signal} {self.when} {self.step} ({self.nth})"

    @property
    def order(self) -> str:
        """As `doomed.py` takes it."""
        return json.dumps({"step": self.step, "when": self.when, "nth": self.nth, "signal": self.signal})


AROUND = ("before", "within", "after")
POINTS = (
    *((step, when) for step in ("claim", "start", "note", "finish", "record") for when in AROUND),
    *(("deliver", when) for when in ("within", "after")),  # a look knows only then that something is to be sent
    *((step, when) for step in ("preflight", "send") for when in ("before", "after")),
    *(("run", when) for when in ("before", "begun", "after")),
)
"""On the way of an occurrence."""
TAKING_OVER = tuple(("recover", when) for when in AROUND)
"""While it makes good what another left behind."""
LEAVING = tuple((step, when) for step in ("refuse", "sign_off") for when in AROUND)
"""After it was asked to stop."""
NOT_BEGUN = ("claim", "preflight")  # whoever ends there has started nothing, so nothing may be unknown
FEW = (*NOT_BEGUN, "note", "deliver", "recover", "sign_off")
"""Done once for many runs or messages, or for few; or only the first tells. On a fast machine there is no second time."""


@dataclass
class Counts:
    """What the rounds have come to."""

    rounds: Counter[str] = field(default_factory=Counter)
    jobs: Counter[str] = field(default_factory=Counter)
    messages: Counter[str] = field(default_factory=Counter)

    def add(self, other: Counts) -> None:
        self.rounds += other.rounds
        self.jobs += other.jobs
        self.messages += other.messages

    @property
    def wrong(self) -> dict[str, int]:
        both = self.jobs + self.messages
        return {kind: both[kind] for kind in WRONG if both[kind]}

    def __str__(self) -> str:
        told = " · ".join(
            ", ".join(f"{what}: {part[what]}" for what in sorted(part))
            for part in (self.rounds, self.jobs, self.messages)
        )
        return f"{self.rounds.total()} rounds, {self.jobs.total()} jobs · {told}"


class Arena:
    """A store with homes on it, and the gateway that is hit."""

    def __init__(
        self, folder: Path, url: str | None, *, count: int = 12, seed: int = 0, lease_s: float = LEASE_S
    ) -> None:
        self.folder, self.count, self.lease_s = folder, count, lease_s
        self.random = random.Random(seed)
        self.lines, self.desk = folder / "lines", folder / "desk"
        self.number = 0
        self.gateway: Gateway | None = None
        self.other: Gateway | None = None
        self.home, self.beside = self._homes(url)

    def _homes(self, url: str | None) -> tuple[TestHome, SharedHome | None]:
        line = f'echo "$HORAE_RUN_ID $HORAE_OCCURRENCE_KEY" >> {self.lines}\n'
        scripts = {name: f"{line}sleep {takes}\necho done\n" for name, takes in TAKES.items()}
        if url is None:
            home = new_home(self.folder / "home")
            home.config(f"parallel = {PARALLEL}\n")
            for name, text in scripts.items():
                home.script(f"{name}.sh", text)
            return home, None
        patient = with_options(url, {"idle_in_transaction_session_timeout": f"{round(self.lease_s * 500)}"})
        one, two = (
            shared_home(self.folder / name, patient, host=f"{name}-machine", parallel=str(PARALLEL))
            for name in ("one", "two")
        )
        one.give_scripts(**scripts)
        return one, two

    # ── gateways

    def start(self, home: TestHome | None = None, *, order: str = "") -> Gateway:
        """A gateway that can be told to die; with an `order` it is from the beginning."""
        return doomed(home or self.home, lease_s=self.lease_s, desk=self.desk, order=order)

    def arm(self, point: Point) -> Gateway:
        """The gateway that will be hit there."""
        gateway = self.gateway
        assert gateway is not None
        assert gateway.process.stdin is not None
        said = gateway.said().count("armed")
        gateway.process.stdin.write(f"{point.order}\n".encode())
        gateway.process.stdin.flush()
        until(lambda: gateway.said().count("armed") > said, "it is armed")
        return gateway

    def close(self) -> None:
        for gateway in (self.gateway, self.other):
            if gateway is not None:
                end(gateway)

    # ── work

    def burst(self, *, slow: bool = False) -> str:
        """Jobs that come due at one instant, half of them with something to send, some of which (or all) take a while."""
        self.number += 1
        prefix = f"r{self.number}-"
        due = datetime.fromtimestamp(math.ceil(time.time() + AHEAD_S), UTC).isoformat()
        texts: dict[str, str] = {}
        for place in range(self.count):
            slug = f"{prefix}{place}"
            script = "long.sh" if slow else "slow.sh" if place % 4 == 3 else "line.sh"
            targets = "local, desk" if place % 2 else "local"
            id_ = f"{self.number:06x}{place:06x}"
            texts[slug] = JOB.format(id=id_, slug=slug, due=due, script=script, targets=targets)
        if isinstance(self.home, SharedHome):
            self._put(texts)
        else:
            for slug, text in texts.items():
                self.home.file(slug).write_text(text, encoding="utf-8")
        return prefix

    def _put(self, texts: dict[str, str]) -> None:
        """As somebody on another machine would do it."""
        home, close = assemble(str(self.home.path), actor="test", gateway=True)

        def work(tx: Any) -> None:
            for slug, text in texts.items():
                tx.documents.put("job", slug, text, mode=0o644, actor="test")

        home.store.transact(work)
        reload(home, list(texts))
        close()

    def open_now(self, prefix: str) -> int:
        """How much of what is there has not come to its end; a burst that is not taken in yet is open too."""
        now_us = int(time.time() * 1e6)
        ((count,),) = self.home.sql(OPEN, now_us)
        settled = self.home.sql(SLOTS + " AND o.state = 'settled'", f"{prefix}%")
        return int(count) + self.count - len(settled)

    def settled(self, prefix: str) -> bool:
        """Wait until nothing is open; False when that does not come."""
        with contextlib.suppress(AssertionError):
            until(lambda: self.open_now(prefix) == 0, "nothing is open", 4 * self.lease_s + 20)
            return True
        return False

    def begun(self, prefix: str) -> bool:
        """Whether something of a round runs or has run."""
        return bool(self.home.sql(RUNS + " AND r.started_at IS NOT NULL", f"{prefix}%"))

    def ended(self, prefix: str) -> dict[str, str]:
        """How the runs of a round have ended, those that have."""
        runs = self.home.sql(RUNS, f"{prefix}%")
        return {run_id: state for run_id, _, _, state in runs if state not in ("claimed", "running")}

    def trusted(self, pid: int) -> bool:
        """Whether a gateway owns what it does: its lease goes on. One of a file has no need of it while nothing runs."""
        if self.other is None:
            return True
        rows = self.home.sql("SELECT lost_at, lease_until FROM gateway WHERE pid = ? ORDER BY since_at DESC", pid)
        return rows[0][0] is None and rows[0][1] > time.time() * 1e6

    # ── judging

    def ran(self) -> Counter[str]:
        """How often each key's line is there."""
        return Counter(line.split()[1] for line in _lines(self.lines))

    def judge(self, prefix: str) -> Counts:
        """Each job of a round by its lines and its record."""
        found, keys = Counts(), self.ran()
        by_run = Counter(line.split()[0] for line in _lines(self.lines))
        runs: dict[str, list[tuple[str, int, str]]] = {}
        for run_id, key, attempt, state in self.home.sql(RUNS, f"{prefix}%"):
            runs.setdefault(key, []).append((run_id, attempt, state))
        slots = self.home.sql(SLOTS, f"{prefix}%")
        for _, key, state, outcome in slots:
            mine = runs.get(key, [])
            found.jobs[_kind(keys[key], state, outcome, mine, by_run)] += 1
        if len(slots) < self.count:
            found.jobs["lost"] += self.count - len(slots)
        arrived = Counter(_lines(self.desk))
        for run_id, state in self.home.sql(SENT, f"{prefix}%"):
            found.messages[_message(arrived[run_id], state)] += 1
        return found


def _kind(
    lines: int, state: str | None, outcome: str | None, runs: list[tuple[str, int, str]], by_run: Counter[str]
) -> str:
    states = [state for _, _, state in runs]
    if lines > 1:
        return "twice"
    if state != "settled" or "claimed" in states or "running" in states:
        return "stuck"
    if any(state == "completed" and not by_run[run_id] for run_id, _, state in runs):
        return "false"
    if outcome != "ran" or not set(states) & {"completed", "unknown"}:
        return "lost"
    if "unknown" in states:
        return "unknown_ran" if lines else "unknown_not"
    return "right"


def _message(lines: int, state: str) -> str:
    if lines > 1:
        return "sent twice"
    if state in ("pending", "sending"):
        return "never sent"
    if state == "delivered":
        return "sent" if lines else "sent falsely"
    if state == "unknown":
        return "unknown, sent" if lines else "unknown, not sent"
    return state


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").splitlines()
    except FileNotFoundError:
        return []


def doomed(home: TestHome, *, lease_s: float = 0, desk: Path | None = None, order: str = "") -> Gateway:
    """A gateway that can be told to die, with leases of that length; with an `order` it is told from the beginning."""
    log = home.path.parent / f"{home.path.name}-{time.monotonic_ns()}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, str(DOOMED), str(lease_s), str(desk or home.path / "desk"), order],
            env={**home.environment(), "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    gateway = Gateway(process, log)
    if not order:
        try:
            gateway.says("ready")
        except AssertionError:
            end(gateway)
            raise
    return gateway


def stands(pid: int) -> bool:
    """Whether a process is stopped."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(") ", 1)[1].startswith("T")


def end(gateway: Gateway) -> None:
    """End it if it has not ended, and close its standard input."""
    finish(gateway)
    with contextlib.suppress(BrokenPipeError):
        if gateway.process.stdin is not None:
            gateway.process.stdin.close()


def end_programs(home: Path) -> None:
    """Kill what the gateways of a home had started, and what watches it, as if its machine had gone."""
    found: list[int] = []
    for shim in shims(home).values():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # its run is over by now, and so is it
            found += (parent_of(shim), shim, *below(shim))
    for pid in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def below(pid: int) -> list[int]:
    """All processes below one."""
    return [found for child in children(pid) for found in (child, *below(child))]


@contextlib.contextmanager
def arena(folder: Path, url: str | None, *, both: bool = False, **given: Any) -> Iterator[Arena]:
    """An arena for the length of a block, with `both` gateways or one."""
    one = Arena(folder, url, **given)
    try:
        one.gateway = one.start()
        if both and one.beside is not None:
            one.other = one.start(one.beside)
        yield one
    finally:
        one.close()


def kill_round(place: Arena, point: Point, *, programs: bool = False) -> Counts:
    """SIGKILL there, with `programs` of what it had started too; the next gateway makes good what was left."""
    for _ in range(TRIES):
        prefix, met = _killed(place, point, programs=programs)
        if met:
            found = _judged(place, point, prefix)
            if not programs:  # its shims were there to tell
                found.jobs["needless"] = found.jobs.pop("unknown_ran", 0)
            return found
        assert place.settled(prefix), f"{point}: {place.judge(prefix)}"
    raise AssertionError(f"{point}: it was never met in {TRIES} bursts")


def _killed(place: Arena, point: Point, *, programs: bool) -> tuple[str, bool]:
    """A burst in which the gateway is to be killed there; whether it was.

    One that is asked to stop may have started all that it had claimed, and one that is killed may leave nothing behind.
    """
    leaving = (point.step, point.when) in LEAVING
    prefix = place.burst(slow=leaving)
    gateway = place.arm(Point("finish", "after", nth=2) if point.step == "recover" else point)
    if leaving:
        until(lambda: place.begun(prefix), f"{point}: something runs")
        gateway.signal(signal.SIGTERM)
    status = gateway.ends()
    assert status == -signal.SIGKILL or (leaving and status == 0), f"{point}: {gateway.said()}"
    if programs:
        end_programs(place.home.path)
    end(gateway)
    if point.step == "recover":
        gateway = place.start(order=point.order)
        until(lambda: gateway.process.poll() is not None or place.open_now(prefix) == 0, f"{point}: it takes over")
        if gateway.process.poll() is None:
            gateway.signal(signal.SIGTERM)
        status = gateway.ends()
        assert status in (0, -signal.SIGKILL), f"{point}: {gateway.said()}"
        end(gateway)
    place.gateway = place.start()
    return prefix, status == -signal.SIGKILL


def vanish_round(place: Arena, point: Point) -> Counts:
    """SIGKILL there of a gateway on another machine: whoever is left waits for the end of its lease, and goes on."""
    prefix, gateway = _hit(place, point)
    end_programs(place.home.path)
    end(gateway)
    found = _judged(place, point, prefix)
    place.gateway = place.start()
    return found


def stop_round(place: Arena, point: Point) -> Counts:
    """SIGSTOP there until its lease has ended and, where there is another gateway, its work is done; then SIGCONT.

    What it does once it goes on must change nothing of what the other has written.
    """
    prefix, gateway = _hit(place, point)
    if place.other is None:
        time.sleep(1.2 * place.lease_s)
    else:
        assert place.settled(prefix), f"{point}: {place.judge(prefix)}\n{place.other.said()[-3000:]}"
    before = place.ended(prefix)
    gateway.signal(signal.SIGCONT)
    until(lambda: place.trusted(gateway.pid), f"{point}: it is a gateway again: {gateway.said()}")
    found = _judged(place, point, prefix)
    after = place.ended(prefix)
    assert before.items() <= after.items(), f"{point}: ends were changed: {before} {after}"
    return found


def _hit(place: Arena, point: Point) -> tuple[str, Gateway]:
    """A burst in which the gateway is hit, and that gateway. The other one may have taken all that would lead there."""
    tries, patience_s = (1, 20.0) if place.other is None else (TRIES, 6.0)
    for number in range(tries):
        prefix = place.burst(slow=point.step == "note")
        gateway = place.arm(point) if number == 0 else place.gateway
        assert gateway is not None
        with contextlib.suppress(AssertionError):
            until(
                lambda one=gateway: stands(one.pid) if point.signal == "SIGSTOP" else one.process.poll(), "", patience_s
            )
            return prefix, gateway
    raise AssertionError(f"{point}: it was never met: {place.gateway and place.gateway.said()}")


def _judged(place: Arena, point: Point, prefix: str) -> Counts:
    well = place.settled(prefix)
    found = place.judge(prefix)
    found.rounds[f"{point.step} {point.when}"] += 1
    assert well == (not found.jobs["stuck"] and not found.messages["never sent"]), f"{point}: {found}"
    unknown = found.jobs["unknown_ran"] + found.jobs["unknown_not"]
    if point.step in NOT_BEGUN or (point.signal == "SIGSTOP" and place.other is None):
        assert unknown == 0, f"{point}: {found}"
    return found
