"""What an agent's run may use: reserved before it starts, so that runs at once never reserve more than there is."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from typing import Any

import pytest

from horae.core.equipment import Allowance, Given
from horae.core.model import Claim
from horae.core.outcome import blocked, lost
from horae.errors import Stale
from horae.store.equipping import MEANT, OF_JOB, SUMS
from tests.support.agentjobs import Fleet, a_wish, a_work
from tests.support.builders import DAY, HOUR, a_result, at, with_token
from tests.support.stores import SqliteUnderTest as UnderTest

CAP, PLENTY = Allowance(tokens=1000), Allowance(tokens=10**6)


def left(fleet: Fleet, cap: Allowance = CAP, own: Allowance = PLENTY) -> int | None:
    """How much one more run of another job would get of the home's day; None: nothing. It is given back."""
    job = fleet.put("probe")
    claim = fleet.claim(job)
    given = fleet.equip(claim, a_wish(own, home_day=cap))
    fleet.s.do(lambda tx: tx.runs.finish(claim, blocked("probe", ("just a look",))))
    fleet.s.do(lambda tx: tx.runs.settle(claim))
    return None if given.reasons else given.allowance.tokens


def test_P14_a_run_gets_the_least_of_its_limit_and_what_is_left_of_both_days(s: UnderTest) -> None:
    fleet = Fleet(s)
    claim = fleet.claim(fleet.put())
    wish = a_wish(Allowance(7, 500, 2.0), Allowance(tokens=300, usd=9.0), Allowance(tokens=900, usd=1.5))
    assert fleet.equip(claim, wish).allowance == Allowance(7, 300, 1.5)
    assert fleet.row(claim, "reserved_tokens", "reserved_usd") == (300, 1.5)


def test_without_limits_nothing_is_reserved(s: UnderTest) -> None:
    fleet = Fleet(s)
    claim = fleet.claim(fleet.put())
    assert fleet.equip(claim) == Given()
    assert fleet.row(claim, "reserved_tokens", "reserved_usd") == (None, None)
    assert fleet.row(claim, "equipped_at") != (None,)


def test_a_run_without_a_limit_of_its_own_gets_a_quarter_of_the_day_at_most(s: UnderTest) -> None:
    fleet = Fleet(s)
    job = fleet.put()
    got = [fleet.equip(fleet.claim(job), a_wish(home_day=CAP)).allowance.tokens]
    for slug in "abc":
        got.append(fleet.equip(fleet.claim(fleet.put(slug)), a_wish(home_day=CAP)).allowance.tokens)
    assert got == [250] * 4
    assert left(fleet) is None


def test_P14_where_nothing_is_left_nothing_is_reserved_and_the_reason_says_until_when(s: UnderTest) -> None:
    fleet = Fleet(s)
    fleet.run(fleet.put("a"), a_wish(Allowance(tokens=900), home_day=CAP), work=a_work(input=600, output=0))
    fleet.begun(fleet.put("b"), a_wish(Allowance(tokens=400), home_day=CAP))
    claim = fleet.claim(fleet.put("c"))
    given = fleet.equip(claim, a_wish(Allowance(tokens=10), home_day=CAP))
    (says,) = given.reasons
    assert says == (
        "the token budget of the day for all agents here is used up: 1.0k of 1.0k (400 of it reserved by 1 live run);"
        " it begins again at 2026-03-03T00:00+00:00"
    )
    assert fleet.row(claim, "reserved_tokens", "equipped_at") == (None, None)
    fleet.s.do(lambda tx: tx.runs.finish(claim, blocked("c", given.reasons)))
    assert s.reader().budget(0)["reserved_tokens"] == 400


def test_money_and_the_job_have_a_budget_too(s: UnderTest) -> None:
    fleet = Fleet(s)
    job = fleet.put()
    fleet.run(job, a_wish(job_day=Allowance(usd=0.02)), work=a_work(usd=0.025))
    given = fleet.equip(fleet.claim(job), a_wish(job_day=Allowance(usd=0.02)))
    assert given.reasons == (
        "the money budget of the day for this job is used up: $0.03 of $0.02; it begins again at 2026-03-03T00:00+00:00",
    )
    other = fleet.put("other")
    assert not fleet.equip(fleet.claim(other), a_wish(job_day=Allowance(usd=0.02))).reasons


def test_the_same_claim_is_given_the_same_again(s: UnderTest) -> None:
    fleet = Fleet(s)
    claim = fleet.claim(fleet.put())
    wish = a_wish(Allowance(tokens=700), home_day=CAP)
    first = fleet.equip(claim, wish)
    assert fleet.equip(claim, wish) == first
    assert first.allowance.tokens == 700
    assert s.reader().budget(0)["reserved_tokens"] == 700


@pytest.mark.parametrize("which", ["token", "started"])
def test_P3_only_the_owner_of_a_claimed_run_may_equip_it(s: UnderTest, which: str) -> None:
    fleet = Fleet(s)
    claim = fleet.claim(fleet.put())
    if which == "started":
        fleet.start(claim)
    else:
        claim = with_token(claim, claim.token + 1)
    with pytest.raises(Stale):
        fleet.equip(claim, a_wish(home_day=CAP))
    assert s.reader().budget(0)["reserved_tokens"] == 0


# ── what becomes of a reservation


@pytest.mark.parametrize(
    ("event", "given", "counts"),
    [
        ("complete", {"work": a_work(input=90, output=10)}, 100),
        ("fail", {"work": a_work(input=90, output=10)}, 100),
        ("fail", {"work": a_work(input=90, output=10, open_bound=50)}, 150),
        ("cancel", {"work": a_work(input=0, output=0, open_bound=50, turns=0)}, 50),
        ("fail", {"result": a_result(refused="there is no such program")}, 0),
        ("fail", {"result": a_result()}, 400),
    ],
)
def test_P14_a_reservation_becomes_what_was_used_as_far_as_that_is_known(
    s: UnderTest, event: str, given: dict[str, Any], counts: int
) -> None:
    fleet = Fleet(s)
    fleet.run(fleet.put(), a_wish(Allowance(tokens=400), home_day=CAP), event=event, **given)
    assert left(fleet) == 1000 - counts


def test_P14_after_a_call_that_used_more_than_was_left_there_is_nothing_more(s: UnderTest) -> None:
    fleet = Fleet(s)
    fleet.run(fleet.put(), a_wish(Allowance(tokens=900), home_day=CAP), work=a_work(input=1200, output=90))
    assert left(fleet) is None
    assert s.reader().budget(0)["tokens"] == 1290


def test_P14_of_an_unknown_end_the_whole_reservation_counts_even_when_it_is_resolved(s: UnderTest) -> None:
    fleet = Fleet(s)
    claim = fleet.begun(fleet.put(), a_wish(Allowance(tokens=400), home_day=CAP))
    ending = replace(lost("Tides", "nobody saw it"), result=a_result(work=a_work(input=5, output=5)))
    s.do(lambda tx: tx.runs.finish(claim, ending))
    assert fleet.row(claim, "state", "tokens", "reserved_tokens") == ("unknown", 10, 400)
    assert left(fleet) == 600
    s.do(lambda tx: tx.runs.resolve(claim.run_id, "failed", actor="anna", reason=None, again=None))
    assert left(fleet) == 600
    spent = s.reader().budget(0)
    assert (spent["tokens"], spent["reserved_tokens"]) == (0, 400)


@pytest.mark.parametrize("how", ["release", "refuse", "call off", "ask to end"])
def test_P14_what_has_begun_nothing_gives_its_reservation_back(s: UnderTest, how: str) -> None:
    fleet = Fleet(s)
    claim = fleet.claim(fleet.put())
    fleet.equip(claim, a_wish(Allowance(tokens=400), home_day=CAP))
    assert s.reader().budget(0)["reserved_tokens"] == 400
    if how in ("call off", "ask to end"):
        s.do(lambda tx: tx.runs.ask_to_end(claim.run_id, actor="anna", reason="no"))
    if how == "ask to end":
        s.do(lambda tx: tx.runs.asked_to_end(fleet.owner))
    else:
        verb = "refuse" if how == "refuse" else "release"
        s.do(lambda tx: getattr(tx.runs, verb)(claim, "the gateway is stopping"))
    spent = s.reader().budget(0)
    assert (spent["tokens"], spent["reserved_tokens"]) == (0, 0)


def test_P14_a_crash_before_the_start_gives_back_and_the_next_attempt_is_equipped_anew(s: UnderTest) -> None:
    fleet = Fleet(s)
    claim = fleet.claim(fleet.put())
    fleet.equip(claim, a_wish(Allowance(tokens=400), home_day=CAP))
    heir = s.sign_on("g2")
    adopted = s.adopt(claim, heir)
    with pytest.raises(Stale):
        fleet.equip(claim, a_wish(home_day=CAP))
    s.do(lambda tx: tx.runs.release(adopted, "its gateway died"))
    (again,) = s.claim(heir)
    assert fleet.equip(again, a_wish(Allowance(tokens=1000), home_day=CAP)).allowance.tokens == 1000


def test_a_day_counts_what_is_open_and_what_has_ended_in_it(s: UnderTest) -> None:
    fleet = Fleet(s)
    fleet.at(at("21:00"))
    fleet.run(fleet.put("a"), a_wish(Allowance(tokens=300), home_day=CAP), work=a_work(input=300, output=0))
    over_midnight = fleet.begun(fleet.put("b"), a_wish(Allowance(tokens=400), home_day=CAP))
    fleet.at(at("00:30", 3))
    tomorrow = a_wish(Allowance(tokens=10**6), home_day=CAP, since=at("00:00", 3))
    claim = fleet.claim(fleet.put("c"))
    assert fleet.equip(claim, tomorrow).allowance.tokens == 600, "what is open counts; what ended yesterday does not"
    s.do(lambda tx: tx.runs.release(claim, "no"))
    fleet.end(over_midnight, work=a_work(input=350, output=0))
    (claim,) = s.claim(fleet.owner)
    assert fleet.equip(claim, tomorrow).allowance.tokens == 650, "it ended today"


# ── many at once


def test_P14_twenty_claims_at_once_never_reserve_more_than_there_is(s: UnderTest) -> None:
    fleet = Fleet(s)
    for number in range(20):
        fleet.order(fleet.put(f"job-{number:02}"))
    claims: list[Claim] = s.claim(fleet.owner)
    assert len(claims) == 20
    stores = [s.again() for _ in range(5)]
    barrier = Barrier(5)

    def work(number: int) -> list[Given]:
        barrier.wait(30)
        mine = claims[number::5]
        wish = a_wish(Allowance(tokens=130), home_day=CAP)
        return [stores[number].transact(lambda tx, claim=claim: tx.agents.equip(claim, wish)) for claim in mine]

    with ThreadPoolExecutor(5) as pool:
        given = [one for some in pool.map(work, range(5)) for one in some]
    got = sorted(one.allowance.tokens or 0 for one in given if not one.reasons)
    assert got == [90] + [130] * 7, "the last one gets what is left, and the others nothing"
    assert sum(bool(one.reasons) for one in given) == 12
    assert s.reader().budget(0)["reserved_tokens"] == 1000


def test_what_a_run_is_given_is_read_from_indexes(s: UnderTest) -> None:
    by_name = MEANT.replace(":ref", "'tides'")
    days = {
        index: SUMS.format(of_job=of_job).replace(":since", "1").replace(":job", "'j'")
        for of_job, index in (("", "run_spending"), (OF_JOB, "run_spending_of_job"))
    }
    if s.store.db.shared:  # which scans a table that is nearly empty, unless it is told that this is dear
        s.rows("SELECT set_config('enable_seqscan', 'off', false)")
        plans = {index: _plan(s, f"EXPLAIN {sql}") for index, sql in days.items()}
        # of one row either index is as good, and the server may know that there is only one
        assert all("run_spending" in plan and "Seq Scan on run" not in plan for plan in plans.values()), plans
        assert "Seq Scan" not in _plan(s, f"EXPLAIN {by_name}")
        return
    assert "SCAN job" not in _plan(s, f"EXPLAIN QUERY PLAN {by_name}")
    for index, sql in days.items():
        reads = [
            line for line in _plan(s, f"EXPLAIN QUERY PLAN {sql}").splitlines() if " run" in line.split(" USING")[0]
        ]
        assert len(reads) == 2
        assert all(f"USING INDEX {index} (" in line for line in reads), reads


def _plan(s: UnderTest, sql: str) -> str:
    return "\n".join(str(row.get("detail") or row["QUERY PLAN"]) for row in s.rows(sql))


# ── what people see of it


def test_a_budget_is_shown_for_the_home_and_each_job(s: UnderTest) -> None:
    fleet = Fleet(s)
    tides, moon = fleet.put("tides"), fleet.put("moon")
    fleet.run(tides, work=a_work(input=600, output=0, usd=0.5))
    fleet.at(at("08:00") + HOUR)
    fleet.run(tides, work=a_work(input=60, output=0, usd=0.25))
    fleet.begun(moon, a_wish(Allowance(tokens=400, usd=1.0), home_day=CAP))
    spent = s.reader().budget(int((at("08:30")).timestamp() * 1e6))
    mine = {"tokens": 60, "usd": 0.25, "reserved_tokens": 0, "reserved_usd": 0}
    other = {"tokens": 0, "usd": 0, "reserved_tokens": 340, "reserved_usd": 1.0}
    assert spent.pop("jobs") == {tides.id: mine, moon.id: other}
    assert spent == {"tokens": 60, "usd": 0.25, "reserved_tokens": 340, "reserved_usd": 1.0}
    assert s.reader().budget(int((at("08:00") + DAY).timestamp() * 1e6))["tokens"] == 0
