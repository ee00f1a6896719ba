"""Fences that are taken away must be missed: a contract or a simulated life catches each mutant of the product."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from horae.engine import flow, gateway, recover
from horae.errors import Stale, Trouble
from horae.store import claimwrites, ledger, owners
from horae.store.database import SqliteDb
from horae.store.ledger import Ledger
from horae.store.outbox import Outbox
from horae.store.owners import Owners
from horae.store.plan import Plan
from tests.contract import test_store_claims as claims
from tests.contract import test_store_outbox as outbox
from tests.contract import test_store_plan as plan
from tests.simulation import test_gateways as gateways
from tests.simulation.scenario import HOME, MACHINES, PAIR, Scenario, simulate
from tests.support.builders import a_result
from tests.support.outside import Programs
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


def by_life(scenario: Scenario, *faults: dict[int, str]) -> Callable[[], None]:
    def look() -> None:
        for fault in faults:
            simulate(fault, scenario=scenario)

    return look


def every_third(kind: str, scenario: Scenario = HOME) -> Callable[[], None]:
    return by_life(scenario, *({k: kind} for k in range(0, 300, 3)))


def in_sql(module: Any, name: str, what: str, instead: str = "") -> Mutant:
    """A statement that says less."""

    def mutant(patch: pytest.MonkeyPatch) -> None:
        sql = getattr(module, name)
        assert what in sql, f"{name} has no {what!r} any more: the mutant must follow it"
        patch.setattr(module, name, sql.replace(what, instead))

    return mutant


# ── fences in the store


def no_token_in_settle(patch: pytest.MonkeyPatch) -> None:
    real = Ledger.settle

    def settle(self: Any, claim: Any) -> None:
        real(self, claims.with_token(claim, _token(self, claim)))

    patch.setattr(Ledger, "settle", settle)


def no_token_in_the_receipt(patch: pytest.MonkeyPatch) -> None:
    real = Outbox.record

    def record(self: Any, parcel: Any, receipt: Any) -> str:
        (token,) = self._db.execute(
            "SELECT token FROM delivery WHERE id = ?", (parcel.items[0].delivery_id,)
        ).fetchone()
        return real(self, replace(parcel, token=token), receipt)

    patch.setattr(Outbox, "record", record)


def _token(verbs: Any, claim: Any) -> int:
    return verbs._db.execute("SELECT token FROM run WHERE id = ?", (claim.run_id,)).fetchone()[0]


def no_token_in_a_release(patch: pytest.MonkeyPatch) -> None:
    real = Ledger.release

    def release(self: Any, claim: Any, reason: str) -> None:
        real(self, claims.with_token(claim, _token(self, claim)), reason)

    patch.setattr(Ledger, "release", release)


def whoever_was_refused_in_a_crowd_is_not_told(patch: pytest.MonkeyPatch) -> None:
    """The fallback of a bulk write that met fewer rows than it was given."""

    def each(self: Any, sql: str, rows: Any) -> list[bool]:
        self._db.executemany(sql, rows)
        return [True] * len(rows)

    patch.setattr(Ledger, "_each", each)


def a_stale_start_starts(patch: pytest.MonkeyPatch) -> None:
    real = Ledger.start_all
    patch.setattr(
        Ledger, "start_all", lambda self, some: [self.now if isinstance(at, Stale) else at for at in real(self, some)]
    )


def the_outbox_in_a_transaction_of_its_own(patch: pytest.MonkeyPatch) -> None:
    """The run is finished first, and its deliveries are written by the next commit."""
    real_plan, real_conclude = Outbox.plan_all, flow.conclude

    async def conclude(claim: Any, ending: Any, p: Any, started: Any = None) -> None:
        planned: list[Any] = []

        def later(self: Any, *args: Any) -> list[bool]:
            planned.append(args)
            return [True] * len(args[0])

        with pytest.MonkeyPatch.context() as without:
            without.setattr(Outbox, "plan_all", later)
            await real_conclude(claim, ending, p, started)
        for args in planned:
            await p.store.commit(lambda tx, args=args: real_plan(tx.outbox, *args))

    patch.setattr(flow, "conclude", conclude)
    patch.setattr(recover, "conclude", conclude)


def the_next_slot_is_planned_when_the_run_settles(patch: pytest.MonkeyPatch) -> None:
    real = Ledger._settle
    patch.setattr(claimwrites.Writes, "_plan", lambda self, found, cursor: None)

    def settle(self: Any, ends: Any) -> Any:
        answer = real(self, ends)
        for end in ends:
            if end.claim.trigger == "schedule":
                self._jobs.plan.plan_next(end.claim.job_id)
        return answer

    patch.setattr(Ledger, "_settle", settle)


def a_slot_that_has_a_row_is_planned_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Plan, "_has_row", lambda self, job_id, slot: False)


def start_is_not_written_before_the_process_is_there(patch: pytest.MonkeyPatch) -> None:
    real_finish, real_start = Ledger._finish, Ledger.start_all
    patch.setattr(Ledger, "start_all", lambda self, some: [self.now] * len(some))

    def finish(self: Any, ends: Any) -> Any:
        begun = [end.claim for end in ends if end.ending.event != "block"]
        with suppress(Stale):
            real_start(self, begun)
        return real_finish(self, ends)

    patch.setattr(Ledger, "_finish", finish)


# ── what a crash leaves behind


def a_lost_run_is_run_again(patch: pytest.MonkeyPatch) -> None:
    async def resume(orphan: Any, claim: Any, p: Any) -> None:
        order = flow.order_for(claim, p.runner.facts(claim.job), p.settings)
        await p.runner.run(order, p.noted(claim), lambda: flow.ready(p))
        await flow.conclude(claim, flow.judge(claim.job.name, a_result(stdout="again")), p)

    patch.setattr(recover, "resume", resume)


def a_lost_run_is_over_before_its_program_is(patch: pytest.MonkeyPatch) -> None:
    """A run whose end nobody saw is settled at once: the next one starts beside it."""

    async def resume(orphan: Any, claim: Any, p: Any) -> None:
        await flow.conclude(claim, recover.lost(claim.job.name, "nobody saw how it ended"), p)

    patch.setattr(recover, "resume", resume)


def what_was_being_sent_is_sent_again(patch: pytest.MonkeyPatch) -> None:
    real = Outbox.recall
    patch.setattr(Outbox, "recall", lambda self, former, repeatable: real(self, former, lambda address: True))


def a_message_goes_out_twice_at_once(patch: pytest.MonkeyPatch) -> None:
    """Whoever takes it leaves it in the outbox."""
    real = Outbox._take

    def take(self: Any, owner: Any, first: int) -> Any:
        parcel = real(self, owner, first)
        self._db.execute("UPDATE delivery SET state = 'pending' WHERE id = ?", (first,))
        return parcel

    patch.setattr(Outbox, "_take", take)


# ── leases


def nobody_looks_at_the_lease_before_an_effect(patch: pytest.MonkeyPatch) -> None:
    async def hold(p: Any, for_s: float = 0.0) -> None:
        return

    patch.setattr(flow, "hold", hold)


def a_lease_that_has_not_ended_is_no_obstacle(patch: pytest.MonkeyPatch) -> None:
    real = Owners.take_over

    def take_over(self: Any, owner: Any, proven: Any, **given: Any) -> Any:
        everybody = {holder.owner.id for holder in self.others(owner)}
        return real(self, owner, everybody, **given)

    patch.setattr(Owners, "take_over", take_over)


def what_is_adopted_keeps_its_token(patch: pytest.MonkeyPatch) -> None:
    real = Owners._adopt

    def adopt(self: Any, run_id: str, former: Any, owner: Any) -> Any:
        (token,) = self._db.execute("SELECT token FROM run WHERE id = ?", (run_id,)).fetchone()
        with pytest.MonkeyPatch.context() as same:
            same.setattr(SqliteDb, "next_tokens", lambda db, count: [token])
            return real(self, run_id, former, owner)

    patch.setattr(Owners, "_adopt", adopt)


def leases_are_not_renewed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Owners, "renew", lambda self, owner, for_s=0.0: None)


def whoever_was_taken_over_may_renew(patch: pytest.MonkeyPatch) -> None:
    real = Owners.renew

    def renew(self: Any, owner: Any, for_s: float = 0.0) -> None:
        with suppress(Stale):
            real(self, owner, for_s)

    patch.setattr(Owners, "renew", renew)


def whoever_was_taken_over_lets_its_programs_go_on(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(gateway.Gateway, "_end_taken", lambda self: None)


def whoever_looks_first_judges_all_others(patch: pytest.MonkeyPatch) -> None:
    """After the store was away for a while every lease has ended."""
    real = gateway.recover
    patch.setattr(gateway, "recover", lambda p, spawn, judges_in_s: real(p, spawn, None))


def what_was_lost_may_still_take_over(patch: pytest.MonkeyPatch) -> None:
    """It adopts runs before it learns that its own are another's, and forgets them when it begins anew."""
    real = recover._take

    def take(tx: Any, p: Any, proven: Any, judges_in_s: Any) -> Any:
        with pytest.MonkeyPatch.context() as quiet:
            quiet.setattr(Owners, "renew", lambda self, owner, for_s=0.0: None)
            return real(tx, p, proven, judges_in_s)

    patch.setattr(recover, "_take", take)


def processes_of_other_machines_are_seen_to_be_gone(patch: pytest.MonkeyPatch) -> None:
    real = Programs.gone
    patch.setattr(Programs, "gone", lambda self, owner: owner.host != self.life.host.name or real(self, owner))


def the_stores_time_is_taken_for_ours(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(flow, "ahead", lambda *_: timedelta())


def what_was_called_off_is_given_back(patch: pytest.MonkeyPatch) -> None:
    """Neither whoever takes it over nor whoever gives it back looks at what a person had said."""
    patch.setattr(Ledger, "asked_to_end", lambda self, owner: [])
    in_sql(ledger, "CALL_OFF", "cancel_reason IS NOT NULL", "1 = 0")(patch)


FINISH_TOKEN, START_TOKEN = " AND token = ?", " AND token = ?"
CAUGHT: list[tuple[str, Mutant, Callable[[], None]]] = [
    (
        "no token in an end",
        in_sql(ledger, "FINISH", FINISH_TOKEN, " AND token + ? > 0"),
        by_contract(claims.test_P3_O3_a_wrong_token_changes_nothing, "complete"),
    ),
    (
        "no token in a start",
        in_sql(ledger, "START", START_TOKEN, " AND token + ? > 0"),
        by_contract(claims.test_P3_O3_a_wrong_token_changes_nothing, "start"),
    ),
    (
        "no state in an end",
        in_sql(ledger, "FINISH", " AND state = ?", " AND state <> ? || 'x'"),
        by_contract(claims.test_P3_a_wrong_state_changes_nothing, "complete", "claimed"),
    ),
    (
        "no state in a start",
        in_sql(ledger, "START", " AND state = 'claimed'"),
        by_contract(claims.test_P3_a_wrong_state_changes_nothing, "start", "running"),
    ),
    ("", no_token_in_settle, by_contract(claims.test_P3_O3_a_wrong_token_changes_nothing, "settle")),
    ("", no_token_in_a_release, by_contract(claims.test_P3_O3_a_wrong_token_changes_nothing, "release")),
    ("", no_token_in_the_receipt, by_contract(outbox.test_P3_O5_not_even_where_the_second_one_sends_it_again)),
    (
        "",
        whoever_was_refused_in_a_crowd_is_not_told,
        by_contract(claims.test_P3_of_many_that_start_together_only_the_stale_ones_are_refused),
    ),
    ("", a_stale_start_starts, gateways.test_what_waits_for_its_turn_can_be_called_off),
    ("", the_outbox_in_a_transaction_of_its_own, every_third("after")),
    ("", a_lost_run_is_run_again, every_third("after")),
    ("", a_lost_run_is_over_before_its_program_is, every_third("after")),
    ("", what_was_being_sent_is_sent_again, every_third("after")),
    ("", a_message_goes_out_twice_at_once, by_life(HOME, {})),
    (
        "recovery forgets what had finished",
        in_sql(owners, "ORPHANS", "WHERE o.state = 'claimed'", "WHERE o.state = 'settled' AND o.key IS NULL"),
        by_contract(claims.test_orphans_are_what_others_left_open),
    ),
    ("", the_next_slot_is_planned_when_the_run_settles, by_life(HOME, {})),
    (
        "",
        a_slot_that_has_a_row_is_planned_again,
        by_contract(plan.test_a_far_slot_can_be_skipped_and_the_skip_taken_back),
    ),
    ("", start_is_not_written_before_the_process_is_there, every_third("before")),
    ("", nobody_looks_at_the_lease_before_an_effect, every_third("stall", PAIR)),
    ("", a_lease_that_has_not_ended_is_no_obstacle, by_life(MACHINES, {})),
    ("", what_is_adopted_keeps_its_token, every_third("pause", PAIR)),
    ("", leases_are_not_renewed, by_life(PAIR, {})),
    ("", whoever_was_taken_over_may_renew, every_third("stall", PAIR)),
    (
        "",
        whoever_was_taken_over_lets_its_programs_go_on,
        lambda: gateways.test_P3_whoever_was_taken_over_ends_its_programs_and_begins_anew("pause"),
    ),
    ("", whoever_looks_first_judges_all_others, gateways.test_P2_when_the_store_was_away_nobody_is_taken_for_lost),
    ("", what_was_lost_may_still_take_over, gateways.test_P1_whoever_was_lost_learns_it_before_it_takes_over),
    ("", processes_of_other_machines_are_seen_to_be_gone, by_life(MACHINES, {})),
    ("", the_stores_time_is_taken_for_ours, by_life(MACHINES, {})),
    (
        "",
        what_was_called_off_is_given_back,
        gateways.test_what_was_asked_to_end_before_it_began_does_not_begin_elsewhere,
    ),
]
NAMES = [name or mutant.__name__ for name, mutant, _ in CAUGHT]


@pytest.mark.parametrize(("mutant", "look"), [(mutant, look) for _, mutant, look in CAUGHT], ids=NAMES)
def test_a_missing_fence_is_noticed(mutant: Mutant, look: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    mutant(monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception, Trouble)):
        look()


@pytest.mark.parametrize("look", [look for _, _, look in CAUGHT[:8]], ids=NAMES[:8])
def test_the_same_looks_find_nothing_in_the_product(look: Callable[[], None]) -> None:
    look()
