"""Policies that are broken on purpose must be missed: the naive reckoning of test_policies_ledger.py catches each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from horae.core import admission, catchup
from horae.store import claiming, ledger
from horae.store.claimwrites import Writes
from horae.store.plan import Plan
from horae.store.waiting import Groups
from tests.property.test_policies_ledger import POLICIES, STEPS, play_through

Mutant = Callable[[pytest.MonkeyPatch], None]


def nothing(*_args: Any, **_given: Any) -> None:
    """Does not do what it should."""


def a_late_slot_runs_whatever_catch_up_says(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(catchup, "CATCH_UP_GRACE_S", 1e9)


def what_passed_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(claiming, "passed", lambda job, slots, mine, *_rest: (mine,))


def calendars_are_not_looked_at(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(claiming, "excluded", nothing)


def nothing_stands_for_others(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(admission, "_made_up", lambda _settled: 0)


def retries_do_not_give_way(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(admission, "_without_retries", lambda kept, _turns: kept)


def retries_in_vain_are_planned(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ledger, "gives_way", lambda *_args: False)


def what_is_held_is_like_new(patch: pytest.MonkeyPatch) -> None:
    real = claiming.open_of
    patch.setattr(claiming, "open_of", lambda row: replace(real(row), held=False))


def what_waits_loses_its_place(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Writes, "_hold", nothing)


def a_group_has_always_room(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Groups, "_count", lambda _self, _group: 9)


def nobody_is_asked_to_end(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Writes, "_cancel", nothing)


def a_job_plans_nothing_after_its_cursor(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Writes, "_plan", nothing)


def a_pause_leaves_alone_what_waits(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Plan, "look_again", nothing)


def resuming_catches_up(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Plan, "skip_passed", nothing)


def a_queue_has_no_end(patch: pytest.MonkeyPatch) -> None:
    real = admission._behind

    def behind(job: Any, ready: Any, reason: str, turns: Any) -> None:
        with mock.patch.object(admission, "QUEUE_MAX", 10**6):  # within whatever else it is patched to just now
            real(job, ready, reason, turns)

    patch.setattr(admission, "_behind", behind)


MUTANTS: list[Mutant] = [
    a_late_slot_runs_whatever_catch_up_says, what_passed_is_forgotten, calendars_are_not_looked_at,
    nothing_stands_for_others, retries_do_not_give_way, retries_in_vain_are_planned, what_is_held_is_like_new,
    what_waits_loses_its_place, a_group_has_always_room, nobody_is_asked_to_end, a_job_plans_nothing_after_its_cursor,
    a_pause_leaves_alone_what_waits, resuming_catches_up, a_queue_has_no_end,
]  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.__name__ for mutant in MUTANTS])
def test_a_broken_policy_is_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    @settings(max_examples=2000, phases=[Phase.generate], suppress_health_check=[HealthCheck.too_slow])
    @given(POLICIES, STEPS, st.sampled_from([1, 2]))
    def look(policies: dict[str, Any], steps: list[tuple[str, int]], room: int) -> None:
        play_through(policies, steps, room)

    mutant(monkeypatch)
    with pytest.raises(Exception):  # noqa: B017 (an assertion, or the schema refuses)
        look()
