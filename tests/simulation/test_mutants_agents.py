"""Fences around agents that are taken away must be missed: one of the first lives with agents finds each mutant.

Each is named with a seed that finds it, which is tried first; where what happens in lives has changed another one may.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from horae.agents import meter
from horae.core.equipment import Allowance, Given
from horae.core.wish import wish_of
from horae.engine import flow
from horae.errors import Problem, Stale
from horae.store import agentends, claiming, equipping, ledger, owners, parking
from horae.store.agentends import AgentEnds
from horae.store.agents import Agents
from horae.store.equipping import Equipping
from horae.store.ledger import Ledger
from horae.store.parking import Parking
from horae.store.successors import Successors
from tests.simulation.swarm_agents import live
from tests.simulation.test_agents import SEEDS
from tests.simulation.test_mutants import Mutant, in_sql

# ── budgets


def equip_ignores_what_is_reserved(patch: pytest.MonkeyPatch) -> None:
    """Only what runs have used counts."""
    real = Equipping._day

    def day(self: Any, *args: Any) -> Any:
        found = real(self, *args)
        return found._replace(tokens=found.tokens - found.live_tokens, usd=found.usd - found.live_usd)

    patch.setattr(Equipping, "_day", day)


def a_run_gets_all_that_it_wishes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(equipping, "_share", lambda own, days: own)


def what_nobody_knows_is_free(patch: pytest.MonkeyPatch) -> None:
    real = agentends._charge
    patch.setattr(
        agentends, "_charge", lambda ending, work: (0, 0.0, None) if ending.event == "lose" else real(ending, work)
    )


def an_answer_that_nobody_saw_is_free(patch: pytest.MonkeyPatch) -> None:
    real = agentends._charge
    patch.setattr(agentends, "_charge", lambda ending, work: real(ending, work and replace(work, open_bound=0)))


def what_had_not_begun_stays_reserved(patch: pytest.MonkeyPatch) -> None:
    nothing = f", {ledger.NOTHING_USED}"
    in_sql(ledger, "RELEASE", nothing)(patch)
    in_sql(ledger, "CALL_OFF", nothing)(patch)


def the_day_is_that_of_the_gateways_clock(patch: pytest.MonkeyPatch) -> None:
    async def equipped(claim: Any, p: Any) -> Any:
        if not claim.job.agent:
            return None
        asked = wish_of(claim.job, p.settings.agents, p.settings.timezone, p.clock.now())
        return await p.store.commit(lambda tx: tx.agents.equip(claim, asked))

    patch.setattr(flow, "equipped", equipped)


def the_meter_looks_at_turns_only(patch: pytest.MonkeyPatch) -> None:
    real = meter.admit
    patch.setattr(meter, "admit", lambda allowance, *args: real(Allowance(allowance.turns), *args))


def who_waits_gets_all_of_its_limit_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Equipping, "_own", lambda self, claim, run: run)


# ── what runs leave


def a_stale_owner_leaves_notes(patch: pytest.MonkeyPatch) -> None:
    """What a run has left is written whoever owns it by now."""
    real = Ledger._finish

    def finish(self: Any, ends: Any) -> Any:
        answers = real(self, ends)
        for end, answer in zip(ends, answers, strict=True):
            work = end.ending.result and end.ending.result.work
            if isinstance(answer, Stale) and work is not None and end.claim.replay is None:
                self._left._left(end, work)
        return answers

    patch.setattr(Ledger, "_finish", finish)


def what_waits_leaves_its_notes_already(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(agentends, "NO_END", ("lose",))


def a_failure_changes_what_is_watched(patch: pytest.MonkeyPatch) -> None:
    real = AgentEnds._left

    def left(self: Any, end: Any, work: Any) -> None:
        real(self, replace(end, ending=replace(end.ending, event="complete")), work)

    patch.setattr(AgentEnds, "_left", left)


def a_replay_leaves_notes(patch: pytest.MonkeyPatch) -> None:
    real = AgentEnds.leave

    def leave(self: Any, ends: Any) -> None:
        real(self, [replace(end, claim=replace(end.claim, replay=None)) for end in ends])

    patch.setattr(AgentEnds, "leave", leave)


# ── what waits


def a_question_is_decided_again(patch: pytest.MonkeyPatch) -> None:
    real = Agents.decide

    def decide(self: Any, ask_id: str, **said: Any) -> Any:
        self._db.execute("UPDATE ask SET decided_at = NULL, decision = NULL WHERE id = ?", (ask_id,))
        return real(self, ask_id, **said)

    patch.setattr(Agents, "decide", decide)


def a_word_is_taken_that_comes_too_late(patch: pytest.MonkeyPatch) -> None:
    """The run goes on, and is told that nobody answered."""
    real = Agents.decide

    def decide(self: Any, ask_id: str, **said: Any) -> Any:
        self._db.execute("UPDATE ask SET kind = 'job', expires_at = NULL WHERE id = ?", (ask_id,))
        answer = real(self, ask_id, **said)
        self._db.execute("UPDATE ask SET kind = 'call' WHERE id = ? AND key IN (SELECT key FROM resume)", (ask_id,))
        return answer

    patch.setattr(Agents, "decide", decide)


def each_word_is_no(patch: pytest.MonkeyPatch) -> None:
    real = Equipping._from_where

    def from_where(self: Any, claim: Any) -> Any:
        state, decision = real(self, claim)
        return state, decision and {**decision, "approved": False}

    patch.setattr(Equipping, "_from_where", from_where)


def a_park_forgets_the_slot(patch: pytest.MonkeyPatch) -> None:
    in_sql(parking, "GO_ON", "SET state = 'planned',", "SET")(patch)


def a_park_ends_the_slot(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Parking, "_over", lambda self, claim, later, outlived: later)


def a_park_forgets_from_where(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(parking, "REMEMBER", "SELECT ?, ?, ?, ?, ?")


def a_replay_that_was_begun_begins_anew(patch: pytest.MonkeyPatch) -> None:
    real = Equipping._gather

    def gather(self: Any, claim: Any, wish: Any, allowance: Any) -> Given:
        given = real(self, claim, wish, allowance)
        return given if claim.replay is None else replace(given, state=None, decision=None)

    patch.setattr(Equipping, "_gather", gather)


def what_was_tried_again_goes_on_from_the_middle(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Parking, "forget", lambda self, keys: None)


def what_waits_counts_as_a_failure(patch: pytest.MonkeyPatch) -> None:
    for module, name in ((claiming, "ROWS"), (claiming, "RIVALS"), (owners, "CLAIM_ROW")):
        in_sql(module, name, "f.state = 'failed')", "f.state IN ('failed', 'released'))")(patch)


# ── what follows what


def a_failure_orders_what_follows(patch: pytest.MonkeyPatch) -> None:
    real = Ledger._settle

    def settle(self: Any, ends: Any) -> Any:
        answer = real(self, ends)
        self._successors.follow([end.claim for end in ends if end.ending.event == "fail"])
        return answer

    patch.setattr(Ledger, "_settle", settle)


def a_replay_orders_what_follows(patch: pytest.MonkeyPatch) -> None:
    real = Successors.follow

    def follow(self: Any, claims: Any) -> None:
        real(self, [replace(claim, replay=None) for claim in claims])

    patch.setattr(Successors, "follow", follow)


def what_says_nothing_orders_nothing(patch: pytest.MonkeyPatch) -> None:
    real = Ledger._settle

    def settle(self: Any, ends: Any) -> Any:
        with pytest.MonkeyPatch.context() as quiet:
            if not any(end.ending.message for end in ends):
                quiet.setattr(Successors, "follow", lambda self, claims: None)
            return real(self, ends)

    patch.setattr(Ledger, "_settle", settle)


FOUND: list[tuple[Mutant, int]] = [
    (equip_ignores_what_is_reserved, 2),
    (a_run_gets_all_that_it_wishes, 0),
    (what_nobody_knows_is_free, 10),
    (an_answer_that_nobody_saw_is_free, 0),
    (what_had_not_begun_stays_reserved, 7),
    (the_day_is_that_of_the_gateways_clock, 1),
    (the_meter_looks_at_turns_only, 7),
    (who_waits_gets_all_of_its_limit_again, 3),
    (a_stale_owner_leaves_notes, 10),
    (what_waits_leaves_its_notes_already, 2),
    (a_failure_changes_what_is_watched, 0),
    (a_replay_leaves_notes, 17),
    (a_question_is_decided_again, 17),
    (a_word_is_taken_that_comes_too_late, 6),
    (each_word_is_no, 13),
    (a_park_forgets_the_slot, 0),
    (a_park_ends_the_slot, 0),
    (a_park_forgets_from_where, 0),
    (a_replay_that_was_begun_begins_anew, 0),
    (what_was_tried_again_goes_on_from_the_middle, 2),
    (what_waits_counts_as_a_failure, 3),
    (a_failure_orders_what_follows, 7),
    (a_replay_orders_what_follows, 10),
    (what_says_nothing_orders_nothing, 7),
]


@pytest.mark.parametrize(("mutant", "first"), FOUND, ids=[mutant.__name__ for mutant, _ in FOUND])
def test_a_missing_fence_is_noticed(mutant: Mutant, first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant(monkeypatch)
    for seed in (first, *range(SEEDS)):
        try:
            live(seed)
        except (AssertionError, Problem):
            return
    pytest.fail(f"{SEEDS} lives have not missed it")
