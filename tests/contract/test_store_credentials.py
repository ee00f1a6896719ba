"""Who may come in: a link once, an ended one never, and what is kept is no secret."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest

from horae.core.access import digest_of
from horae.errors import Ambiguous, Conflict, NotFound, Refused
from tests.support.stores import SqliteUnderTest as UnderTest

MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


def make(s: UnderTest, kind: str, secret: str, *, name: str = "ann", good_for: timedelta | None = DAY) -> str:
    made_id = digest_of(secret)[:12]
    given = {"id": made_id, "name": name, "role": "admin", "sha256": digest_of(secret), "actor": "test"}
    s.do(
        lambda tx: tx.doors.credentials.make(
            kind, expires=None if good_for is None else s.clock.time + good_for, **given
        )
    )
    return made_id


def use(store: Any, secret: str) -> dict[str, Any] | None:
    try:
        return store.transact(lambda tx: tx.doors.credentials.use_link(digest_of(secret)))
    except Refused:
        return None


def test_a_link_is_used_once(s: UnderTest) -> None:
    make(s, "link", "hl_a", good_for=10 * MINUTE)
    assert (use(s.store, "hl_a") or {})["name"] == "ann"
    assert use(s.store, "hl_a") is None
    assert use(s.store, "hl_b") is None


def test_a_link_that_is_too_old_is_none(s: UnderTest) -> None:
    make(s, "link", "hl_a", good_for=10 * MINUTE)
    s.clock.time += 10 * MINUTE
    assert use(s.store, "hl_a") is None


def test_of_two_that_use_a_link_at_once_one_comes_in(s: UnderTest) -> None:
    for number in range(20):
        make(s, "link", f"hl_{number}")
    stores, together = [s.store, s.again()], Barrier(2, timeout=20)

    def go(store: Any) -> list[bool]:
        together.wait()
        return [use(store, f"hl_{number}") is not None for number in range(20)]

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(go, stores)
    assert [a + b for a, b in zip(first, second, strict=True)] == [1] * 20


def test_neither_a_token_nor_a_session_is_a_link_and_no_link_a_way_in(s: UnderTest) -> None:
    make(s, "token", "ht_a")
    make(s, "session", "hs_a")
    make(s, "link", "hl_a")
    assert use(s.store, "ht_a") is None
    assert use(s.store, "hs_a") is None
    assert s.reader().credential(digest_of("hl_a")) is None
    assert s.reader().credential(digest_of("ht_a")) is not None


def test_one_that_is_ended_is_found_no_more_and_ends_once(s: UnderTest) -> None:
    made = make(s, "token", "ht_a", name="ci", good_for=None)
    s.do(lambda tx: tx.doors.credentials.end(made, actor="ann"))
    assert s.reader().credential(digest_of("ht_a")) is None
    assert s.reader().credentials(all=False) == []
    assert [one["id"] for one in s.reader().credentials(all=True)] == [made]
    with pytest.raises(Conflict):
        s.do(lambda tx: tx.doors.credentials.end(made, actor="ann"))
    with pytest.raises(NotFound):
        s.do(lambda tx: tx.doors.credentials.end("nobody", actor="ann"))
    told = s.rows("SELECT what, actor FROM journal WHERE what IN ('let_in', 'shut_out') ORDER BY seq")
    assert [(row["what"], row["actor"]) for row in told] == [("let_in", "test"), ("shut_out", "ann")]


def good(s: UnderTest, secret: str) -> Any:
    """What is kept of a secret that lets somebody in."""
    found = s.reader().credential(digest_of(secret))
    assert found is not None
    return found


def test_a_session_lasts_from_its_last_use_and_an_ended_one_is_not_revived(s: UnderTest) -> None:
    made = make(s, "session", "hs_a")
    before = good(s, "hs_a")["expires_at"]
    s.clock.time += MINUTE
    s.do(lambda tx: tx.doors.credentials.touch(made, tx.now + 30 * DAY))
    found = good(s, "hs_a")
    assert found["expires_at"] > before
    assert found["used_at"] is not None
    s.do(lambda tx: tx.doors.credentials.touch(made, None))
    assert good(s, "hs_a")["expires_at"] == found["expires_at"]
    s.do(lambda tx: tx.doors.credentials.end(made, actor="ann"))
    s.do(lambda tx: tx.doors.credentials.touch(made, tx.now + 60 * DAY))
    assert s.rows("SELECT expires_at FROM credential")[0]["expires_at"] == found["expires_at"]


def test_names_are_for_tokens_and_must_be_clear(s: UnderTest) -> None:
    make(s, "session", "hs_a", name="ci")
    one = make(s, "token", "ht_a", name="ci")
    assert s.reader().find_credential("ci")["id"] == one
    make(s, "token", "ht_b", name="ci")
    with pytest.raises(Ambiguous):
        s.reader().find_credential("ci")
    assert s.reader().find_credential(one)["id"] == one


def test_no_secret_is_kept(s: UnderTest) -> None:
    make(s, "token", "ht_a")
    assert "ht_a" not in str(s.rows("SELECT * FROM credential")) + str(s.rows("SELECT * FROM journal"))
    assert "sha256" not in s.reader().credentials(all=True)[0]


def test_what_ended_long_ago_goes_a_few_rows_at_a_time(s: UnderTest) -> None:
    kept = make(s, "token", "ht_kept", good_for=None)
    for number in range(3):
        make(s, "link", f"hl_{number}", good_for=MINUTE)
    ended = make(s, "token", "ht_ended", good_for=None)
    s.do(lambda tx: tx.doors.credentials.end(ended, actor="ann"))
    s.clock.time += DAY
    prune = lambda: s.do(lambda tx: tx.doors.credentials.prune(tx.now - timedelta(hours=1), 3))
    assert [prune(), prune(), prune()] == [3, 1, 0]
    assert [row["id"] for row in s.rows("SELECT id FROM credential")] == [kept]


def test_requests_and_calls_that_are_old_go(s: UnderTest) -> None:
    for number in range(3):
        s.do(lambda tx, n=number: tx.doors.once.begin("rest:ci", f"key {n}", "digest"))
    s.clock.time += DAY
    s.do(lambda tx: tx.doors.once.begin("rest:ci", "new", "digest"))
    prune = lambda: s.do(lambda tx: tx.doors.once.prune(tx.now - timedelta(hours=1), 2))
    assert [prune(), prune(), prune()] == [2, 1, 0]
    assert [row["key"] for row in s.rows("SELECT key FROM once")] == ["new"]
