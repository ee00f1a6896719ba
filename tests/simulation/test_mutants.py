"""Fences that are taken away must be missed: a contract or a simulated life catches each mutant of the product."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from horae.core.states import RUN, target
from horae.engine import flow, recover
from horae.errors import Stale, Trouble
from horae.store import claiming
from horae.store.ledger import Ledger
from horae.store.outbox import Outbox
from horae.store.plan import Plan
from tests.contract import test_store_claims as claims
from tests.contract import test_store_plan as plan
from tests.simulation.scenario import simulate
from tests.support.builders import a_result
from tests.support.stores import SqliteUnderTest
from tests.support.world import scratch

Mutant = Callable[[pytest.MonkeyPatch], None]


def by_contract(test: Callable[..., None], *args: Any) -> Callable[[], None]:
    def look() -> None:
        with scratch() as folder:
            store = SqliteUnderTest(folder)
            try:
                test(store, *args)
            finally:
                store.close()

    return look


def by_life(*faults: dict[int, str]) -> Callable[[], None]:
    def look() -> None:
        for fault in faults:
            simulate(fault)

    return look


def every_third(kind: str) -> Callable[[], None]:
    return by_life(*({k: kind} for k in range(0, 150, 3)))


# ── the mutants


def no_token(patch: pytest.MonkeyPatch) -> None:
    real = Ledger._move

    def move(self: Any, claim: Any, event: str, **columns: Any) -> Any:
        (token,) = self._db.execute("SELECT token FROM run WHERE id = ?", (claim.run_id,)).fetchone()
        return real(self, claims.with_token(claim, token), event, **columns)

    patch.setattr(Ledger, "_move", move)


def no_state_guard(patch: pytest.MonkeyPatch) -> None:
    def move(self: Any, claim: Any, event: str, **columns: Any) -> Any:
        assign = ", ".join(f"{name} = ?" for name in columns)
        (row,) = self._db.execute(
            f"UPDATE run SET state = ?, {assign} WHERE id = ? AND token = ? RETURNING started_at",
            (target(RUN, event), *columns.values(), claim.run_id, claim.token),
        ).fetchall()
        return row[0]

    patch.setattr(Ledger, "_move", move)


def no_token_in_settle(patch: pytest.MonkeyPatch) -> None:
    real = Ledger.settle

    def settle(self: Any, claim: Any) -> None:
        (token,) = self._db.execute("SELECT token FROM run WHERE id = ?", (claim.run_id,)).fetchone()
        real(self, claims.with_token(claim, token))

    patch.setattr(Ledger, "settle", settle)


def no_token_in_the_receipt(patch: pytest.MonkeyPatch) -> None:
    real = Outbox.record

    def record(self: Any, claim: Any, message: Any, receipt: Any) -> None:
        (token,) = self._db.execute("SELECT token FROM run WHERE id = ?", (claim.run_id,)).fetchone()
        real(self, claims.with_token(claim, token), message, receipt)

    patch.setattr(Outbox, "record", record)


def the_outbox_in_a_transaction_of_its_own(patch: pytest.MonkeyPatch) -> None:
    """The run is finished first, and its deliveries are written by the next commit."""
    real = Outbox.plan

    async def conclude(claim: Any, ending: Any, p: Any) -> None:
        patch.setattr(Outbox, "plan", lambda self, claim, ending, kept: True)
        await p.store.commit(lambda tx: tx.runs.finish(claim, ending, {}))
        await p.store.commit(lambda tx: real(tx.outbox, claim, ending, p.kept(claim)))
        await flow.finish_off(claim, p)

    patch.setattr(flow, "conclude", conclude)
    patch.setattr(recover, "conclude", conclude)


def a_lost_run_is_run_again(patch: pytest.MonkeyPatch) -> None:
    async def outlive(orphan: Any, claim: Any, p: Any) -> None:
        await p.runner.run(flow.order_for(claim, p.runner.facts(claim.job), p.settings), p.noted(claim))
        await flow.conclude(claim, flow.judge(claim.job.name, a_result(stdout="again")), p)

    patch.setattr(recover, "outlive", outlive)


def a_lost_run_is_a_success(patch: pytest.MonkeyPatch) -> None:
    """A run whose end nobody saw is settled before its process has ended: the next one starts beside it."""

    async def outlive(orphan: Any, claim: Any, p: Any) -> None:
        await flow.conclude(claim, recover.lost(claim.job.name, recover.LOST), p)

    patch.setattr(recover, "outlive", outlive)


def what_was_being_sent_is_sent_again(patch: pytest.MonkeyPatch) -> None:
    def recall(self: Any, run_id: str, job_id: str, key: str) -> None:
        self._db.execute("UPDATE delivery SET state = 'pending' WHERE run_id = ? AND state = 'sending'", (run_id,))

    patch.setattr(Outbox, "recall", recall)


def recovery_forgets_what_had_finished(patch: pytest.MonkeyPatch) -> None:
    real = Ledger.orphans
    patch.setattr(
        Ledger, "orphans", lambda self, owner: [o for o in real(self, owner) if o.state in ("claimed", "running")]
    )


def the_next_slot_is_planned_when_the_run_settles(patch: pytest.MonkeyPatch) -> None:
    real = Ledger.settle
    patch.setattr(claiming.Claiming, "_plan", lambda self, row, slot: None)

    def settle(self: Any, claim: Any) -> None:
        real(self, claim)
        if claim.trigger == "schedule":
            self._jobs.plan.plan_next(claim.job_id, after=max(self.now, claim.slot))

    patch.setattr(Ledger, "settle", settle)


def a_slot_that_has_a_row_is_planned_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Plan, "_has_row", lambda self, job_id, slot: False)


def start_is_not_written_before_the_process_is_there(patch: pytest.MonkeyPatch) -> None:
    real_finish = Ledger.finish
    real_start = Ledger.start
    patch.setattr(Ledger, "start", lambda self, claim: None)

    def finish(self: Any, claim: Any, ending: Any, kept: Any) -> bool:
        if ending.event != "block":
            with suppress(Stale):
                real_start(self, claim)
        return real_finish(self, claim, ending, kept)

    patch.setattr(Ledger, "finish", finish)


CAUGHT: list[tuple[Mutant, Callable[[], None]]] = [
    (no_token, by_contract(claims.test_P3_a_wrong_token_changes_nothing, "complete")),
    (no_state_guard, by_contract(claims.test_P3_a_wrong_state_changes_nothing, "complete", "claimed")),
    (no_token_in_settle, by_contract(claims.test_P3_a_wrong_token_changes_nothing, "settle")),
    (no_token_in_the_receipt, by_contract(claims.test_P3_a_stale_owner_records_no_delivery)),
    (the_outbox_in_a_transaction_of_its_own, every_third("after")),
    (a_lost_run_is_run_again, every_third("after")),
    (a_lost_run_is_a_success, every_third("after")),
    (what_was_being_sent_is_sent_again, every_third("after")),
    (recovery_forgets_what_had_finished, every_third("after")),
    (the_next_slot_is_planned_when_the_run_settles, by_life({})),
    (a_slot_that_has_a_row_is_planned_again, by_contract(plan.test_a_far_slot_can_be_skipped_and_the_skip_taken_back)),
    (start_is_not_written_before_the_process_is_there, every_third("before")),
]


@pytest.mark.parametrize(("mutant", "look"), CAUGHT, ids=[mutant.__name__ for mutant, _ in CAUGHT])
def test_a_missing_fence_is_noticed(mutant: Mutant, look: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    mutant(monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception, Trouble)):
        look()


@pytest.mark.parametrize("look", [look for _, look in CAUGHT[:4]])
def test_the_same_looks_find_nothing_in_the_product(look: Callable[[], None]) -> None:
    look()
