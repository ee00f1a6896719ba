"""The journal as its page asks for it, on both stores."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from horae.store import journalviews
from tests.support.builders import at
from tests.support.stores import SqliteUnderTest as UnderTest

NEWEST = 2**62


def asked(s: UnderTest, **among: Any) -> dict[str, Any]:
    every = {"job_id": None, "key": None, "run_id": None, "actor": None, "what": None, "before": NEWEST, "limit": 500}
    reader = s.reader()
    return reader.journal(**{**every, **among})


def with_a_past(s: UnderTest) -> None:
    for slug in ("one", "two"):
        s.put(slug=slug)
    s.clock.time = at("08:01")
    owner = s.sign_on()
    for claim in s.claim(owner):
        s.carry_out(claim)


def test_pages_follow_one_another_and_together_hold_every_entry_once(s: UnderTest) -> None:
    with_a_past(s)
    every = [row["seq"] for row in s.rows("SELECT seq FROM journal ORDER BY seq DESC")]
    found: list[int] = []
    before: int | None = NEWEST
    pages = 0
    while before is not None:
        page = asked(s, before=before, limit=3)
        assert len(page["entries"]) <= 3
        found += [entry["id"] for entry in page["entries"]]
        before, pages = page["cursor"], pages + 1
    assert found == every
    assert pages > 1
    assert all(after < entry for entry, after in pairwise(found))


def test_it_is_narrowed_by_what_entries_are_about(s: UnderTest) -> None:
    with_a_past(s)
    every = asked(s)["entries"]
    for name in ("job_id", "key", "run_id", "actor", "what"):
        word = next(entry[name] for entry in every if entry[name] is not None)
        narrowed = asked(s, **{name: word})["entries"]
        assert narrowed == [entry for entry in every if entry[name] == word]
        assert 0 < len(narrowed) < len(every) or name == "actor"
    run = next(entry for entry in every if entry["run_id"] is not None)
    both = asked(s, run_id=run["run_id"], what=run["what"])["entries"]
    assert {(entry["run_id"], entry["what"]) for entry in both} == {(run["run_id"], run["what"])}
    assert asked(s, what="never heard of")["entries"] == []


def test_an_entry_names_its_job_and_carries_what_was_decided(s: UnderTest) -> None:
    with_a_past(s)
    done = asked(s, what="completed")["entries"]
    assert {entry["slug"] for entry in done} == {"one", "two"}
    for entry in done:
        assert entry["at"].endswith("Z")
        assert isinstance(entry["detail"], dict)
        assert not entry["undoable"]


def test_the_words_of_filters_are_those_that_occur(s: UnderTest) -> None:
    assert set(s.reader().journal_words()) == {"what", "actor"}
    with_a_past(s)
    words = s.reader().journal_words()
    every = asked(s)["entries"]
    assert words["what"] == sorted({entry["what"] for entry in every})
    assert words["actor"] == sorted({entry["actor"] for entry in every})


def test_what_no_index_finds_is_looked_for_so_far_and_a_cursor_leads_on(
    s: UnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_a_past(s)
    every = [entry["id"] for entry in asked(s)["entries"]]
    job = s.rows("SELECT id FROM job WHERE slug = 'one'")[0]["id"]
    kinds: list[dict[str, Any]] = [{"what": "created"}, {"job_id": job}, {"actor": "gateway"}, {"what": "no such kind"}]
    whole = [[entry["id"] for entry in asked(s, **among)["entries"]] for among in kinds]
    monkeypatch.setattr(journalviews, "WALKED", 2)
    for among, expected in zip(kinds, whole, strict=True):
        found: list[int] = []
        before: int | None = NEWEST
        pages = 0
        while before is not None:
            page = asked(s, before=before, limit=50, **among)
            found += [entry["id"] for entry in page["entries"]]
            assert len(page["entries"]) <= 3
            assert page["cursor"] is None or page["cursor"] < before
            before, pages = page["cursor"], pages + 1
        assert found == expected
        assert pages >= len(every) // 3


def test_what_a_key_or_nothing_narrows_is_found_at_once(s: UnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
    with_a_past(s)
    every = asked(s)["entries"]
    key = next(entry["key"] for entry in every if entry["key"] is not None)
    monkeypatch.setattr(journalviews, "WALKED", 1)
    assert asked(s)["entries"] == every
    page = asked(s, key=key)
    assert (page["entries"], page["cursor"]) == ([entry for entry in every if entry["key"] == key], None)
