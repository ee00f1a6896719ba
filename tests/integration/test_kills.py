"""Gateways are killed, and stand still past their lease, at every step, on every store; lines in a file tell what ran.

Lanes go on side by side, since most of a round is waiting. `make test` takes each point once; the long test makes 200
rounds of it, and prints what they came to.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.kill import (
    FEW,
    LEAVING,
    POINTS,
    TAKING_OVER,
    Arena,
    Counts,
    Point,
    arena,
    kill_round,
    stop_round,
    vanish_round,
)
from tests.support.shared import database

Place = tuple[str, str]
Rounds = tuple[tuple[str, Place], ...]
KILLED = (*POINTS, *TAKING_OVER, *LEAVING)
STOPPED_FEW = (("claim", "within"), ("start", "after"), ("finish", "before"), ("send", "before"), ("record", "within"))


def each(how: str, points: tuple[Place, ...]) -> Rounds:
    return tuple((how, point) for point in points)


@dataclass(frozen=True)
class Lane:
    """Rounds that follow one another on one store."""

    name: str
    rounds: Rounds
    shared: bool = False
    both: bool = False

    @contextmanager
    def arena(self, folder: Path) -> Iterator[Arena]:
        folder.mkdir()
        with ExitStack() as stack:
            url = stack.enter_context(database()) if self.shared else None
            yield stack.enter_context(arena(folder, url, both=self.both, seed=len(self.rounds)))

    def run(self, folder: Path) -> Counts:
        total = Counts()
        with self.arena(folder / self.name) as place:
            for how, (step, when) in self.rounds:
                total.add(_round(place, how, step, when))
            assert place.home.json("audit", "verify")["ok"], "the journal is whole after all of it"
        print(f"{self.name}: {total}")
        return total


def _round(place: Arena, how: str, step: str, when: str) -> Counts:
    nth = 1 if step in FEW else place.random.choice((1, 1, 2, 3))
    if how == "stop":
        return stop_round(place, Point(step, when, "SIGSTOP"))
    if how == "vanish":
        return vanish_round(place, Point(step, when))
    return kill_round(place, Point(step, when, nth=nth), programs=place.random.random() < 0.4)


SHORT = (
    Lane("kill-file", each("kill", KILLED[::2])),
    Lane("stop-file", each("stop", STOPPED_FEW)),
    Lane("kill-shared", each("kill", KILLED[1::2]), shared=True),
    Lane("stop-shared", (*each("stop", STOPPED_FEW), *each("vanish", STOPPED_FEW[1:4])), shared=True, both=True),
)
LONG = (
    Lane("kill-file", each("kill", (*KILLED, *POINTS))),
    Lane("stop-file", each("stop", POINTS)),
    Lane("kill-shared", each("kill", (*KILLED, *POINTS)), shared=True),
    Lane("stop-shared", each("stop", POINTS), shared=True, both=True),
    Lane("vanish-shared", each("vanish", POINTS), shared=True, both=True),
)


def ride(lanes: dict[Lane, Future[Counts]], *, shared: bool) -> Counts:
    """What the lanes of one kind of store came to."""
    mine = {lane: counts for lane, counts in lanes.items() if lane.shared == shared}
    failures = [failure for counts in mine.values() if (failure := counts.exception()) is not None]
    if failures:
        raise failures[0] if len(failures) == 1 else BaseExceptionGroup("lanes", failures)
    total = Counts()
    for counts in mine.values():
        total.add(counts.result())
    assert total.wrong == {}, total
    assert total.rounds.total() == sum(len(lane.rounds) for lane in lanes if lane.shared == shared)
    assert total.jobs["right"] > total.jobs.total() / 2, total
    return total


@pytest.fixture(scope="module")
def lanes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Lane, Future[Counts]]]:
    with ThreadPoolExecutor(len(SHORT)) as threads:
        yield {lane: threads.submit(lane.run, tmp_path_factory.mktemp("lane")) for lane in SHORT}


def test_P1_P2_P4_P5_a_gateway_on_a_file_that_ends_or_stands_still_at_any_step(
    lanes: dict[Lane, Future[Counts]],
) -> None:
    ride(lanes, shared=False)


def test_P1_P2_P3_P4_P5_gateways_that_share_a_store_and_end_or_stand_still_at_any_step(
    lanes: dict[Lane, Future[Counts]],
) -> None:
    ride(lanes, shared=True)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_P1_P2_P3_P4_P5_two_hundred_rounds(tmp_path: Path) -> None:
    with ThreadPoolExecutor(len(LONG)) as threads:
        lanes = {lane: threads.submit(lane.run, tmp_path) for lane in LONG}
    total = ride(lanes, shared=False)
    total.add(ride(lanes, shared=True))
    print(f"all: {total}")
    assert total.rounds.total() >= 200
