"""How long a gateway trusts that its runs are its own: less long than anybody else must wait, whatever came between."""

from __future__ import annotations

from datetime import timedelta

import pytest

from horae.core.clockwatch import Reading
from horae.engine.lease import RENEW_EVERY_S, Lease
from horae.limits import LEASE_MARGIN_S, LEASE_S
from tests.support.builders import SetClock


class Machine(SetClock):
    """A clock whose wall, steady and awake readings go their own ways."""

    def __init__(self) -> None:
        super().__init__()
        self.steady_s = 1000.0
        self.awake_s = 500.0

    def reading(self) -> Reading:
        return Reading(self.time.timestamp(), self.steady_s, self.awake_s)

    def work(self, seconds: float) -> None:
        self.steady_s += seconds
        self.awake_s += seconds

    def sleep(self, seconds: float) -> None:
        self.steady_s += seconds


def a_lease() -> tuple[Machine, Lease]:
    clock = Machine()
    return clock, Lease(clock)


def test_what_was_never_asked_for_is_not_there() -> None:
    _, lease = a_lease()
    assert lease.lapsed
    assert lease.is_old


def test_it_is_trusted_for_its_length_less_the_margin() -> None:
    clock, lease = a_lease()
    lease.renewed(lease.asking())
    clock.work(LEASE_S - LEASE_MARGIN_S - 0.001)
    assert not lease.lapsed
    clock.work(0.001)
    assert lease.lapsed


@pytest.mark.parametrize("answer_s", [0.0, 5.0, LEASE_S - 0.5, 2 * LEASE_S])
def test_P3_it_counts_from_the_question_and_not_from_the_answer(answer_s: float) -> None:
    clock, lease = a_lease()
    asked = lease.asking()
    clock.work(answer_s)  # the store may have read its clock at the very beginning of that
    lease.renewed(asked)
    store_lets_go_s = 1000.0 + LEASE_S
    while not lease.lapsed:
        assert clock.steady_s < store_lets_go_s - LEASE_MARGIN_S
        clock.work(0.25)
    assert clock.steady_s <= max(store_lets_go_s - LEASE_MARGIN_S, 1000.0 + answer_s)


def test_a_machine_that_slept_does_not_trust_it_any_more() -> None:
    clock, lease = a_lease()
    lease.renewed(lease.asking())
    clock.sleep(LEASE_S)
    assert lease.lapsed


def test_the_wall_clock_has_no_say() -> None:
    clock, lease = a_lease()
    lease.renewed(lease.asking())
    for step in (timedelta(hours=5), timedelta(hours=-9)):
        clock.time += step
        assert not lease.lapsed
        assert not lease.is_old


def test_an_answer_that_comes_late_takes_nothing_back() -> None:
    clock, lease = a_lease()
    early = lease.asking()
    clock.work(20.0)
    lease.renewed(lease.asking())
    lease.renewed(early)
    clock.work(LEASE_S - LEASE_MARGIN_S - 1.0)
    assert not lease.lapsed


def test_it_is_renewed_three_times_before_it_ends() -> None:
    clock, lease = a_lease()
    lease.renewed(lease.asking())
    clock.work(RENEW_EVERY_S - 0.001)
    assert not lease.is_old
    clock.work(0.001)
    assert lease.is_old
    assert 3 * RENEW_EVERY_S <= LEASE_S


# ── judging others


def test_whoever_has_just_begun_judges_nobody_for_a_whole_lease() -> None:
    clock, lease = a_lease()
    assert lease.judges_in_s == LEASE_S, "it holds none itself"
    lease.renewed(lease.asking())
    waited_s = 0.0
    while lease.judges_in_s > 0:
        assert lease.judges_in_s == LEASE_S - waited_s
        clock.work(RENEW_EVERY_S)
        waited_s += RENEW_EVERY_S
        lease.renewed(lease.asking())
    assert waited_s == LEASE_S


@pytest.mark.parametrize("gap_s", [LEASE_S - LEASE_MARGIN_S, LEASE_S, 100 * LEASE_S])
def test_P2_after_a_gap_in_its_own_lease_it_waits_for_others_to_renew_theirs(gap_s: float) -> None:
    clock, lease = a_lease()
    for _ in range(10):
        lease.renewed(lease.asking())
        clock.work(RENEW_EVERY_S)
    assert lease.judges_in_s == 0.0
    clock.sleep(gap_s - RENEW_EVERY_S)
    assert lease.judges_in_s == LEASE_S
    lease.renewed(lease.asking())
    assert lease.judges_in_s == LEASE_S
    clock.work(5.0)
    assert lease.judges_in_s == LEASE_S - 5.0


def test_an_answer_that_came_after_the_lease_had_ended_bridges_no_gap() -> None:
    """The store was away while it was asked: others could not renew either."""
    clock, lease = a_lease()
    for _ in range(5):
        lease.renewed(lease.asking())
        clock.work(RENEW_EVERY_S)
    asked = lease.asking()
    clock.work(3 * LEASE_S)
    lease.renewed(asked)
    assert lease.judges_in_s == LEASE_S
    lease.renewed(lease.asking())
    assert lease.judges_in_s == LEASE_S


def test_a_renewal_in_time_leaves_the_right_to_judge_alone() -> None:
    clock, lease = a_lease()
    for _ in range(50):
        lease.renewed(lease.asking())
        clock.work(LEASE_S - LEASE_MARGIN_S - 0.5)
    assert lease.judges_in_s == 0.0


def test_O5_a_long_effect_is_covered_only_by_a_lease_that_outlasts_it() -> None:
    clock, lease = a_lease()
    lease.renewed(lease.asking())
    assert lease.covers(LEASE_S - LEASE_MARGIN_S - 1.0)
    assert not lease.covers(LEASE_S)
    lease.renewed(lease.asking(), 120.0)
    assert lease.covers(100.0)
    clock.work(60.0)
    lease.renewed(lease.asking())
    assert lease.covers(120.0 - LEASE_MARGIN_S - 61.0), "an ordinary renewal does not shorten it"
    assert not lease.covers(120.0 - LEASE_MARGIN_S - 59.0)


def test_what_was_lost_is_trusted_no_more_however_long_its_lease_was() -> None:
    clock, lease = a_lease()
    lease.renewed(lease.asking(), 600.0)
    lease.lost()
    assert lease.lapsed
    clock.work(1.0)
    lease.renewed(lease.asking())
    assert lease.covers(10.0)
    assert not lease.covers(LEASE_S)
