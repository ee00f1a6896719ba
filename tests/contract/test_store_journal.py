"""The journal's chain as stores write it: whoever writes, whatever is rolled back, the chain is whole."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from horae.core.chain import Link, Walk, check_memories
from horae.store.journal import Journal
from horae.store.journalreader import JournalReader
from horae.store.writer import GroupWriter
from tests.support.builders import at, us
from tests.support.stores import SqliteUnderTest as UnderTest


def past(s: UnderTest) -> JournalReader:
    """The journal of a store, read through the connection that wrote it."""
    return JournalReader(s.store.db, shared=s.store.db.shared)


def chain_of(s: UnderTest) -> str:
    (chain,) = past(s).chains()
    return chain


def walk(s: UnderTest, chain: str) -> Walk:
    reader = past(s)
    found = Walk(chain, lambda number: reader.marker_from(chain, number))
    for link in reader.links(chain, 0, 100_000):
        found.take(link)
    found.end(reader.head(chain))
    return found


def whole(s: UnderTest, count: int | None = None) -> list[Link]:
    """The entries of the only chain, after a look that it has no flaw."""
    chain = chain_of(s)
    found = walk(s, chain)
    assert found.findings == []
    assert count is None or found.entries == count
    return past(s).links(chain, 0, 100_000)


def say(what: str, **detail: Any) -> Callable[[Any], int]:
    return lambda tx: tx.journal.append(what, actor="test", **detail)


def test_what_the_verbs_write_is_one_whole_chain(s: UnderTest) -> None:
    s.put()
    owner = s.sign_on()
    s.clock.time = at("08:01")
    for claim in s.claim(owner):
        s.carry_out(claim)
    links = whole(s)
    assert [link.number for link in links] == list(range(1, len(links) + 1))
    assert [link.seq for link in links] == [row["seq"] for row in s.journal()]
    assert {"created", "planned", "gateway_started", "claimed", "started", "completed"} <= {link.what for link in links}


def test_a_transaction_that_fails_leaves_the_chain_where_it_was(s: UnderTest) -> None:
    def bad(tx: Any) -> None:
        tx.journal.append("half", actor="test")
        tx.journal.flush()
        raise KeyError("ours")

    s.do(say("one"))
    with pytest.raises(KeyError):
        s.do(bad)
    s.do(say("two"))
    assert [link.what for link in whole(s, 2)] == ["one", "two"]


def test_members_of_a_group_follow_one_another_and_one_that_fails_is_passed_over(s: UnderTest) -> None:
    def half(tx: Any) -> None:
        tx.journal.append("half", actor="test")
        raise KeyError("ours")

    def written_half(tx: Any) -> None:
        tx.journal.append("half", actor="test")
        tx.journal.flush()  # its entries are in the database, and the chain has moved on
        raise KeyError("ours")

    writer = GroupWriter(s.store)

    async def main() -> list[Any]:
        works = [say("n0"), half, say("n1"), written_half, say("n2"), say("n3")]
        tasks = [asyncio.create_task(writer.commit(work)) for work in works]
        while writer._queue.qsize() < len(works):  # noqa: ASYNC110 - they have handed it in when they get no further
            await asyncio.sleep(0)
        writer.start()
        return await asyncio.gather(*tasks, return_exceptions=True)

    answers = asyncio.run(main())
    writer.close()
    assert [type(answer) for answer in answers] == [int, KeyError, int, KeyError, int, int]
    links = whole(s, 4)
    assert [link.what for link in links] == ["n0", "n1", "n2", "n3"]
    assert [link.seq for link in links] == [answer for answer in answers if isinstance(answer, int)]


def test_two_processes_take_turns_in_one_chain(s: UnderTest) -> None:
    """Neither knows where the other has left the chain."""
    other = s.again()
    for number in range(4):
        s.do(say(f"here {number}"))
        other.transact(say(f"there {number}"))
    if len(past(s).chains()) == 1:
        whole(s, 8)
    for chain in past(s).chains():
        assert walk(s, chain).findings == []


def test_a_wrong_note_of_where_the_chain_stands_is_noticed(s: UnderTest) -> None:
    s.do(say("one"))
    chain = chain_of(s)
    head = past(s).head(chain)
    assert head is not None
    for wrong in (head._replace(number=99), head._replace(hash="0" * 64), head._replace(number=0, hash="")):
        s.do(lambda tx, w=wrong: _with_note(s, tx, chain, w))
    whole(s, 4)


def _with_note(s: UnderTest, tx: Any, chain: str, note: Any) -> None:
    journal = Journal(s.store.db, us(tx.now), chain, {chain: note})
    journal.append("noted", actor="test")
    journal.flush()


def test_writing_twice_in_one_transaction_writes_each_entry_once(s: UnderTest) -> None:
    def work(tx: Any) -> None:
        tx.journal.append("one", actor="test")
        tx.journal.flush()
        tx.journal.append("two", actor="test")
        tx.journal.flush()
        tx.journal.flush()

    s.do(work)
    assert [link.what for link in whole(s, 2)] == ["one", "two"]


def test_a_transaction_without_entries_does_not_touch_the_chain(s: UnderTest) -> None:
    s.do(lambda tx: None)
    assert past(s).chains() == []


def test_many_entries_in_one_transaction(s: UnderTest) -> None:
    s.do(lambda tx: [tx.journal.append(f"n{n}", actor="test") for n in range(3000)])
    links = whole(s, 3000)
    assert [link.what for link in links] == [f"n{n}" for n in range(3000)]
    assert [link.seq for link in links] == sorted({link.seq for link in links})


def test_text_of_every_kind_is_hashed_as_it_is_stored(s: UnderTest) -> None:
    s.do(say("odd", text='ü "quoted" \\ \n \u2028 🙂', number=0.1, nothing=None, more={"b": [1, 2.5e-7], "a": True}))
    (link,) = whole(s, 1)
    assert '"number": 0.1, "nothing": null, "more": {"b": [1, 2.5e-07], "a": true}' in link.detail


def test_what_is_looked_up_is_drawn_out_of_the_detail(s: UnderTest) -> None:
    s.do(say("paused", undo={"verb": "resume"}))
    first = past(s).links(chain_of(s), 0, 1)[0].seq
    s.do(say("undone", entry=first))
    s.do(say("undone", entry=first, redo=True))
    s.do(say("zone_data", was_key="k" * 32))
    s.do(say("created", undo=None, entry=7))
    assert [link[11:] for link in whole(s, 5)] == [
        (1, None, 0, None), (0, first, 0, None), (0, first, 1, None), (0, None, 0, "k" * 32), (0, None, 0, None),
    ]  # fmt: skip


def test_what_is_changed_behind_the_stores_back_is_found(s: UnderTest) -> None:
    for what in ("one", "two", "three"):
        s.do(say(what))
    chain = chain_of(s)
    s.damage("UPDATE journal SET detail = '{\"a\": 1}' WHERE what = 'two'")
    assert [(found.what, found.number) for found in walk(s, chain).findings] == [("changed", 2)]
    s.damage("DELETE FROM journal WHERE what = 'two'")
    assert [(found.what, found.number) for found in walk(s, chain).findings] == [("gap", 2)]
    s.damage("DELETE FROM journal WHERE what = 'three'")
    assert [(found.what, found.number) for found in walk(s, chain).findings] == [("cut", 2)]
    s.damage("DELETE FROM journal_chain")
    assert [(found.what, found.number) for found in walk(s, chain).findings] == [("head_missing", 1)]


# ── several chains


def in_chain(s: UnderTest, chain: str, work: Callable[[Journal], object]) -> None:
    def write(tx: Any) -> None:
        journal = Journal(s.store.db, us(tx.now), chain)
        work(journal)
        journal.flush()

    s.do(write)


def test_an_anchor_names_where_all_other_chains_stand(s: UnderTest) -> None:
    for chain, count in (("one", 3), ("two", 2)):
        in_chain(s, chain, lambda journal, n=count: [journal.append(f"n{m}", actor="test") for m in range(n)])
    in_chain(s, "three", lambda journal: journal.anchor())
    reader = past(s)
    assert reader.chains() == ["one", "three", "two"]
    walks = {chain: walk(s, chain) for chain in reader.chains()}
    assert [found for each in walks.values() for found in each.findings] == []
    memories = walks["three"].memories
    assert set(memories) == {("one", 3), ("two", 2)}
    assert check_memories(memories.values(), walks, reader.hash_at) == []
    s.damage("DELETE FROM journal WHERE chain = 'two'")
    s.damage("DELETE FROM journal_chain WHERE chain = 'two'")
    s.damage("DELETE FROM journal WHERE chain = 'one' AND number = 3")
    head = reader.links("one", 1, 1)[0]
    s.damage("UPDATE journal_chain SET number = 2, hash = ? WHERE chain = 'one'", head.hash)
    walks = {chain: walk(s, chain) for chain in reader.chains()}
    assert [found for each in walks.values() for found in each.findings] == [], "each by itself is whole"
    lost = check_memories(memories.values(), walks, reader.hash_at)
    assert [(found.chain, found.number) for found in lost] == [("one", 3), ("two", 2)]


def test_where_there_is_one_chain_nothing_is_anchored(s: UnderTest) -> None:
    s.do(say("one"))
    assert s.do(lambda tx: tx.journal.anchor()) is None
    whole(s, 1)


def test_what_is_from_before_there_were_chains_is_told_apart(s: UnderTest) -> None:
    insert = "INSERT INTO journal (seq, at, actor, what, detail) VALUES (?, ?, 'test', ?, '{}')"
    s.damage(insert, -2, 1, "old")
    s.damage(insert, -1, 2, "old too")
    s.do(say("one"))
    reader = past(s)
    assert (reader.unchained_count(), [link.what for link in reader.unchained(-5, 10)]) == (2, ["old", "old too"])
    assert reader.strays(10) == []
    s.damage(insert, 900, 3, "stray")
    assert [link.what for link in reader.strays(10)] == ["stray"]
    whole(s, 1)


# ── when gateways ran


def test_a_gateway_that_was_killed_was_last_heard_when_it_last_wrote(s: UnderTest) -> None:
    s.put()
    s.sign_on("g1")
    s.clock.time = at("08:10")
    s.do(lambda tx: tx.journal.append("clock_changed", actor="gateway", slept_s=60.0, stepped_s=0.0))
    s.clock.time = at("09:00")
    owner = s.sign_on("g2")
    s.clock.time = at("09:30")
    s.do(lambda tx: tx.runs.sign_off(owner))
    one, two = past(s).gateways(us(at("10:00")))
    assert (one["id"], two["id"], two["heard_at"]) == ("g1", "g2", us(at("09:30")))
    assert one["heard_at"] == (us(at("08:10")) if not s.store.db.shared else us(at("08:00")))
    assert [row["id"] for row in past(s).gateways(us(at("08:30")))] == ["g1"]
    changes = past(s).clock_changes(us(at("08:00")), us(at("09:00")))
    assert changes == [(us(at("08:10")), {"slept_s": 60.0, "stepped_s": 0.0})]
    assert past(s).clock_changes(us(at("08:11")), us(at("09:00"))) == []
