"""A chain of entries: every way of tampering with it is found, and nothing else is."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.core.chain import Head, Link, Marker, Memory, Walk, check_marker, check_memories, entry_hash, hash_of
from tests.support.chains import AT, PlainKey, chained, cover_of, head_of, marker_of, told, walked

LINKS = chained(12)
HEAD = head_of(LINKS)


def but(number: int, **changes: object) -> list[Link]:
    """The chain with one entry changed."""
    return [link._replace(**changes) if link.number == number else link for link in LINKS]


def without(*numbers: int) -> list[Link]:
    return [link for link in LINKS if link.number not in numbers]


def test_what_is_as_it_was_written_has_no_findings() -> None:
    walk = walked(LINKS, HEAD)
    assert walk.findings == []
    assert (walk.entries, walk.number, walk.pruned) == (12, 12, 0)
    assert walk.first == LINKS[0]
    assert walk.last == LINKS[-1]
    assert walked([], None).findings == []


def test_the_hash_is_over_everything_that_an_entry_says() -> None:
    """The value itself is fixed: a chain that was written by one version is checked by the next."""
    fields: list[Any] = ["p" * 64, "home", 1, 7, AT, "gateway", "claimed", "j", "k", "r", '{"a": 1}']
    hashed: Any = entry_hash
    assert hashed(*fields) == "7b05314b1a56d27dc446ccd6533cb35b88b4107c6dad08865b32115059cee4e4"
    others = ("x", "y", 2, 8, 9, *"abcdef")
    assert len({hashed(*fields[:at], other, *fields[at + 1 :]) for at, other in enumerate(others)}) == len(fields)
    assert hashed(*fields[:7], None, "k", None, "{}") != hashed(*fields[:7], "", "k", "", "{}")


CHANGES = {
    "at": AT, "actor": "ann", "what": "started", "job_id": None, "key": "other", "run_id": "other",
    "detail": '{"attempt": 1, "late_s": 0.5}', "seq": 99_999,
}  # fmt: skip


@pytest.mark.parametrize("field", CHANGES)
@pytest.mark.parametrize("number", [1, 6, 12])
def test_a_changed_entry_is_found(field: str, number: int) -> None:
    assert told(walked(but(number, **{field: CHANGES[field]}), HEAD).findings) == [("changed", number)]


@pytest.mark.parametrize("number", [1, 6])
def test_a_changed_entry_with_a_hash_made_anew_is_found_at_the_next(number: int) -> None:
    link = LINKS[number - 1]._replace(actor="ann")
    previous = str(LINKS[number - 2].hash) if number > 1 else ""
    changed = but(number, actor="ann", hash=hash_of(link, previous))
    assert told(walked(changed, HEAD).findings) == [("changed", number + 1)]


def test_the_last_entry_with_a_hash_made_anew_does_not_fit_the_head() -> None:
    link = LINKS[-1]._replace(actor="ann")
    changed = but(12, actor="ann", hash=hash_of(link, str(LINKS[-2].hash)))
    assert told(walked(changed, HEAD).findings) == [("head_differs", 12)]


@pytest.mark.parametrize("value", [None, "", "0" * 64])
def test_a_hash_that_is_gone_or_another_is_found_there_and_at_what_follows(value: str | None) -> None:
    found = told(walked(but(6, hash=value), HEAD).findings)
    assert ("changed", 6) in found
    assert {number for _, number in found} <= {6, 7}


@pytest.mark.parametrize(("gone", "first", "last"), [((1,), 1, 1), ((4,), 4, 4), ((4, 5, 6), 4, 6), ((1, 2), 1, 2)])
def test_a_gap_is_found_and_what_stands_behind_it_is_not_accused(gone: tuple[int, ...], first: int, last: int) -> None:
    findings = walked(without(*gone), HEAD).findings
    assert told(findings) == [("gap", first)]
    assert f"{last}" in findings[0].text


def test_behind_a_gap_the_chain_is_checked_on() -> None:
    changed = [link for link in but(9, actor="ann") if link.number != 4]
    assert told(walked(changed, HEAD).findings) == [("gap", 4), ("changed", 9)]


@pytest.mark.parametrize(("gone", "first"), [((12,), 12), ((10, 11, 12), 10), (tuple(range(1, 13)), 1)])
def test_a_chain_that_was_cut_is_found_by_its_head(gone: tuple[int, ...], first: int) -> None:
    assert told(walked(without(*gone), HEAD).findings) == [("cut", first)]


def test_a_head_that_is_gone_behind_or_another_is_found() -> None:
    assert told(walked(LINKS, None).findings) == [("head_missing", 12)]
    assert told(walked(LINKS, Head(9, str(LINKS[8].hash))).findings) == [("head_behind", 9 + 3)]
    assert told(walked(LINKS, Head(12, "0" * 64)).findings) == [("head_differs", 12)]


def test_entries_that_changed_places_are_both_named() -> None:
    five, six = LINKS[4], LINKS[5]
    swapped = [*LINKS[:4], six._replace(number=5), five._replace(number=6), *LINKS[6:]]
    assert told(walked(swapped, HEAD).findings)[:2] == [("reordered", 5), ("reordered", 6)]


def test_two_entries_with_one_number_are_found() -> None:
    assert ("reordered", 6) in told(walked([*LINKS, LINKS[5]._replace(seq=5000)], HEAD).findings)


def test_columns_that_say_something_else_than_the_detail_are_found() -> None:
    details = {3: {"what": "undone", "entry": 101, "redo": True}, 4: {"undo": {"verb": "resume"}}, 5: {"was_key": "k"}}
    links = chained(6, details=details)
    assert links[2][11:] == (0, 101, 1, None)
    assert links[3][11:] == (1, None, 0, None)
    assert links[4][11:] == (0, None, 0, "k")
    assert walked(links, head_of(links)).findings == []
    for number, changes in (
        (3, {"undoes": 105}),
        (3, {"redo": 0}),
        (4, {"undoable": 0}),
        (5, {"was_key": None}),
        (6, {"undoable": 1}),
    ):
        changed = [link._replace(**changes) if link.number == number else link for link in links]
        assert told(walked(changed, head_of(links)).findings) == [("changed", number)]


# ── pruned


@pytest.mark.parametrize(
    "holes", [[(1, 4)], [(1, 4), (6, 6)], [(3, 5), (7, 12)], [(1, 12)], [(12, 12)], [(2, 3), (4, 6)]]
)
def test_what_markers_say_is_no_gap(holes: list[tuple[int, int]]) -> None:
    gone = {number for first, last in holes for number in range(first, last + 1)}
    walk = walked(without(*gone), HEAD, [marker_of(LINKS, *hole) for hole in holes])
    assert walk.findings == []
    assert (walk.entries, walk.pruned) == (12 - len(gone), len(gone))


@pytest.mark.parametrize(
    ("hole", "gone", "expected"),
    [
        ((1, 4), (1, 2, 3, 4, 5), [("gap", 5)]),
        ((3, 5), (2, 3, 4, 5), [("gap", 2)]),
        ((3, 5), (2, 3, 4, 5, 6), [("gap", 2), ("gap", 6)]),
        ((2, 6), (5, 6), []),  # what was walked over already, and pruned together with what follows
        ((9, 12), (9, 10, 11, 12), []),
        ((9, 11), (9, 10, 11, 12), [("cut", 12)]),
        ((4, 8), (4, 5), [("gap", 4)]),  # it speaks of entries that are there
    ],
)
def test_a_marker_accounts_for_its_entries_only(
    hole: tuple[int, int], gone: tuple[int, ...], expected: list[tuple[str, int]]
) -> None:
    assert told(walked(without(*gone), HEAD, [marker_of(LINKS, *hole)]).findings) == expected


def test_the_entry_behind_a_hole_must_follow_what_was_pruned() -> None:
    wrong = replace(marker_of(LINKS, 1, 4), hash="0" * 64)
    assert told(walked(without(1, 2, 3, 4), HEAD, [wrong]).findings) == [("changed", 5)]


def test_a_journal_that_is_pruned_while_it_is_walked_has_no_gap() -> None:
    """The marker is asked for where something is missing, not before."""
    markers: list[Marker] = []

    def cover(number: int) -> Marker | None:
        return cover_of(markers)(number)

    walk = Walk("home", cover)
    for link in LINKS[:3]:
        walk.take(link)
    markers.append(marker_of(LINKS, 1, 8))
    for link in LINKS[8:]:
        walk.take(link)
    walk.end(HEAD)
    assert walk.findings == []


@pytest.mark.parametrize(
    "change",
    [{"number": 5}, {"count": 3}, {"hash": "0" * 64}, {"at": AT + 1}, {"chain": "other"}, {"signature": "x"}],
    ids=str,
)
def test_a_marker_that_was_changed_has_a_bad_signature(change: dict[str, object]) -> None:
    good = marker_of(LINKS, 1, 4)
    assert check_marker(good, {"plain:one"}, PlainKey.genuine) is None
    found = check_marker(replace(good, **change), {"plain:one"}, PlainKey.genuine)
    assert found is not None
    assert "bad signature" in found.text


def test_a_marker_of_somebody_else_is_not_trusted() -> None:
    theirs = marker_of(LINKS, 1, 4, PlainKey("plain:two"))
    found = check_marker(theirs, {"plain:one"}, PlainKey.genuine)
    assert found is not None
    assert "plain:two" in found.text
    assert check_marker(theirs, {"plain:one", "plain:two"}, PlainKey.genuine) is None
    assert check_marker(replace(theirs, count=0, number=0), {"plain:two"}, lambda *_: True) is not None


# ── what chains remember of one another


OTHER = chained(5, "other", {5: {"what": "anchor", "chains": {"home": [7, LINKS[6].hash], "odd": "no head"}}})


def compared(
    home: list[Link], head: Head | None = HEAD, markers: tuple[Marker, ...] = ()
) -> list[tuple[str, int | None]]:
    walks = {"home": walked(home, head, markers), "other": walked(OTHER, head_of(OTHER), chain="other")}
    hashes = {(link.chain, link.number): link.hash for link in (*home, *OTHER)}
    hashes |= {(marker.chain, marker.number): marker.hash for marker in markers}
    memories = walks["other"].memories.values()
    assert walks["other"].findings == []
    return told(
        check_memories(
            memories, {name: walk for name, walk in walks.items() if walk.number}, lambda *at: hashes.get(at)
        )
    )


def test_an_anchor_that_is_right_is_silent() -> None:
    assert compared(LINKS) == []
    assert compared(without(1, 2, 3, 4, 5, 6, 7), markers=(marker_of(LINKS, 1, 7),)) == []
    assert compared(without(*range(1, 10)), markers=(marker_of(LINKS, 1, 9),)) == [], "it was pruned"


def test_a_chain_that_was_written_anew_is_found_by_an_anchor() -> None:
    other = chained(12, details={3: {"attempt": 2}})
    assert walked(other, head_of(other)).findings == []
    assert compared(other, head_of(other)) == [("anchor", 7)]


def test_a_chain_that_was_cut_with_its_head_is_found_by_an_anchor() -> None:
    assert walked(LINKS[:5], head_of(LINKS[:5])).findings == []
    assert compared(LINKS[:5], head_of(LINKS[:5])) == [("anchor", 7)]
    assert compared([], None) == [("anchor", 7)]


def test_of_a_chain_that_is_gone_the_latest_memory_is_told_once() -> None:
    memories = [Memory("lost", number, "h", "entry 1 of chain other", AT) for number in (3, 9, 5)]
    (found,) = check_memories(memories, {}, lambda *_: None)
    assert (found.chain, found.number) == ("lost", 9)
    assert "is gone" in found.text


# ── every single act of tampering


def deleted(links: list[Link], at: int, _other: int) -> list[Link]:
    return links[:at] + links[at + 1 :]


def swapped(links: list[Link], at: int, other: int) -> list[Link]:
    """Two entries exchange what they say, each with its hash."""
    first, second = links[at], links[other]
    found = list(links)
    found[at] = second._replace(number=first.number)
    found[other] = first._replace(number=second.number)
    return found if at != other else deleted(links, at, other)


def inserted(links: list[Link], at: int, _other: int) -> list[Link]:
    """An entry that never was; those behind it move on."""
    made = links[at]._replace(what="resolved", seq=90_000)
    return [*links[:at], made, *(link._replace(number=link.number + 1) for link in links[at:])]


def rehashed(links: list[Link], at: int, _other: int) -> list[Link]:
    """Everything from a changed entry on is hashed again, as somebody would who knows how."""
    previous = str(links[at - 1].hash) if at else ""
    found = list(links[:at])
    for link in [links[at]._replace(actor="ann"), *links[at + 1 :]]:
        previous = hash_of(link, previous)
        found.append(link._replace(hash=previous))
    return found


def said_otherwise(links: list[Link], at: int, other: int) -> list[Link]:
    detail = json.dumps({"attempt": 1, "late_s": 0.25 + other + 1})
    return [link._replace(detail=detail) if place == at else link for place, link in enumerate(links)]


@given(st.sampled_from([deleted, swapped, inserted, rehashed, said_otherwise]), st.integers(0, 11), st.integers(0, 11))
def test_whatever_is_done_to_the_entries_is_found(
    how: Callable[[list[Link], int, int], list[Link]], at: int, other: int
) -> None:
    assert walked(how(LINKS, at, other), HEAD).findings != []
