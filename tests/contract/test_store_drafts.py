"""Jobs that somebody proposes who is no run: listed while they are open, decided once, bounded in number and in time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from horae.errors import Conflict, Refused
from horae.store.attention import waiting
from tests.support.builders import us
from tests.support.stores import SqliteUnderTest as UnderTest

DAY = timedelta(days=1)
BODY = {"name": "Tides", "schedule": "every 1h", "timezone": "Europe/Paris", "prompt": "Report — 🌊", "reason": None}
ANN, BOB = "token ann (mcp)", "token bob (mcp)"


def propose(s: UnderTest, id: str, actor: str = ANN, *, body: Any = BODY, most: int = 3) -> int:
    until = s.clock.time + 30 * DAY
    return s.do(lambda tx: tx.doors.drafts.propose(body, id=id, actor=actor, expires=until, most=most))


def decide(s: UnderTest, id: str, *, approved: bool = True) -> Any:
    return s.do(lambda tx: tx.agents.decide(id, approved=approved, actor="test", reason="so"))


def test_P11_a_draft_is_an_ask_of_no_run_and_of_no_job(s: UnderTest) -> None:
    entry = propose(s, "d1")
    (ask,) = s.reader().asks()
    names = ("id", "kind", "job_id", "job", "slug", "run", "body", "asked_by", "decision")
    assert [ask[name] for name in names] == ["d1", "job", None, "Tides", None, None, BODY, ANN, None]
    assert s.reader().find_ask("d")["id"] == "d1"
    (row,) = s.journal("proposed")
    assert (row["seq"], row["actor"], row["job_id"], row["run_id"]) == (entry, ANN, None, None)
    assert s.rows("SELECT * FROM job") == []


def test_a_draft_without_a_name_is_a_new_job(s: UnderTest) -> None:
    propose(s, "d1", body={"prompt": "x"})
    assert s.reader().asks()[0]["job"] == "a new job"


def test_P11_a_draft_is_decided_once(s: UnderTest) -> None:
    propose(s, "d1")
    propose(s, "d2")
    assert decide(s, "d1")["body"] == BODY
    decide(s, "d2", approved=False)
    for made in ("d1", "d2"):
        with pytest.raises(Conflict, match="since"):
            decide(s, made)
    assert s.reader().asks() == []
    assert [(ask["id"], ask["decision"]) for ask in s.reader().asks(open=False)] == [
        ("d1", "approved"),
        ("d2", "denied"),
    ]
    assert [row["what"] for row in s.journal("approved", "denied")] == ["approved", "denied"]
    assert s.rows("SELECT * FROM job") == [], "the store makes no job of it"


def test_P11_a_draft_that_waited_too_long_cannot_be_decided(s: UnderTest) -> None:
    propose(s, "d1")
    s.clock.time += 30 * DAY
    for approved in (True, False):
        with pytest.raises(Conflict, match="could be answered until") as told:
            decide(s, "d1", approved=approved)
        assert told.value.hint == "have it proposed again"
    assert s.rows("SELECT decision FROM ask")[0]["decision"] is None


def test_so_many_drafts_of_one_proposer_are_open(s: UnderTest) -> None:
    for number in range(3):
        propose(s, f"d{number}")
    with pytest.raises(Refused, match="3 drafts of token ann") as told:
        propose(s, "d3")
    assert "horae waiting" in str(told.value.hint)
    propose(s, "d4", BOB)
    decide(s, "d0", approved=False)
    propose(s, "d5")
    with pytest.raises(Refused):
        propose(s, "d6")
    s.clock.time += 30 * DAY  # those that are too old count for nothing
    propose(s, "d7")
    assert len(s.reader().asks()) == 5
    assert len(s.journal("proposed")) == 6, "what is refused is not on record as proposed"


def test_what_waits_for_people_names_who_proposes(s: UnderTest) -> None:
    propose(s, "d1")
    s.clock.time += DAY
    propose(s, "d2", BOB, body={**BODY, "name": "n" * 5000})
    reader = s.reader()
    first, second = waiting(reader._db, 10, us(s.clock.time))
    assert (first["job"], first["what"]) == ("n" * 200, f"{BOB} proposes this job")
    assert (second["job"], second["run"], second["what"]) == ("Tides", None, f"{ANN} proposes this job")
    assert "horae approve d1" in second["hint"]
    assert [item["job"] for item in waiting(reader._db, 10, us(s.clock.time + 29 * DAY))] == ["n" * 200]


def test_drafts_that_nobody_answered_go_with_the_history(s: UnderTest) -> None:
    propose(s, "d1")
    s.clock.time += 40 * DAY
    propose(s, "d2")
    prune = lambda before: s.do(lambda tx: tx.retention.prune_runs(0, before, 100, (0, "")))
    prune(s.clock.time - 20 * DAY)
    assert [row["id"] for row in s.rows("SELECT id FROM ask ORDER BY id")] == ["d1", "d2"]
    prune(s.clock.time - 5 * DAY)
    assert [row["id"] for row in s.rows("SELECT id FROM ask")] == ["d2"]
