"""An export proves by itself what it says, whoever laid it out; and whatever was changed in it is found."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from horae.core.chain import Link
from horae.core.export import check_export, document, left_out_item, link_item, pruned_item
from horae.errors import Invalid
from tests.support.chains import PlainKey, chained, head_of, marker_of, told

KEY = PlainKey()
LINKS = chained(8)
OTHER = chained(4, "other", {4: {"what": "anchor", "chains": {"home": [6, LINKS[5].hash]}}})
OLD = LINKS[0]._replace(chain="", number=0, hash=None)


def written(
    items: Iterable[dict[str, Any]] | None = None, chains: dict[str, list[Link]] | None = None, key: PlainKey = KEY
) -> str:
    chains = {"home": LINKS, "other": OTHER} if chains is None else chains
    head = {
        "made_at": "2026-11-30T10:00:00Z", "made_by": "ann", "from": None, "to": None, "job": None, "partial": False,
        "chains": {name: list(head_of(links)) for name, links in chains.items()},
    }  # fmt: skip
    whole = [link_item(link) for link in (OLD, *LINKS, *OTHER)] if items is None else items
    return "".join(document(head, whole, key))


def checked(text: str, trusted: Iterable[str] = (KEY.public,)) -> list[tuple[str, int | None]]:
    return told(check_export(text.splitlines(keepends=True), tuple(trusted), PlainKey.genuine).findings)


def test_what_was_written_is_right() -> None:
    found = check_export(written().splitlines(keepends=True), {KEY.public}, PlainKey.genuine)
    assert found.findings == []
    assert found.unchained == 1
    assert {name: walk.entries for name, walk in found.walks.items()} == {"home": 8, "other": 4}
    assert [(memory.chain, memory.number) for memory in found.heads] == [("home", 8), ("other", 4)]
    assert "2026-11-30T10:00:00Z" in found.heads[0].source


def test_it_is_one_json_document_with_an_entry_a_line() -> None:
    text = written()
    whole = json.loads(text)
    assert (whole["horae"], whole["count"], len(whole["entries"])) == ("journal export 1", 13, 13)
    assert len(text.splitlines()) == 15
    assert whole["entries"][1]["hash"] == LINKS[0].hash
    empty = json.loads(written([], {}))
    assert (empty["count"], empty["entries"]) == (0, [])
    assert checked(written([], {})) == []


def test_it_may_be_laid_out_anew() -> None:
    whole = json.loads(written())
    for text in (json.dumps(whole, indent=2), json.dumps(whole), json.dumps(whole, sort_keys=True)):
        assert checked(text) == []


def test_what_was_pruned_is_there_as_its_marker() -> None:
    items = [pruned_item(marker_of(LINKS, 1, 5)), *(link_item(link) for link in LINKS[5:])]
    assert checked(written(items, {"home": LINKS})) == []
    theirs = marker_of(LINKS, 1, 5, PlainKey("plain:two"))
    items[0] = pruned_item(theirs)
    assert checked(written(items, {"home": LINKS})) == [("marker", 5)]
    assert checked(written(items, {"home": LINKS}), {KEY.public, "plain:two"}) == []


def test_of_a_part_each_entry_can_be_checked() -> None:
    def stretch(first: int, last: int) -> dict[str, Any]:
        return left_out_item("home", first, last, LINKS[last - 1].hash)

    items = [
        stretch(1, 2),
        link_item(LINKS[2]),
        stretch(4, 5),
        *(link_item(link) for link in LINKS[5:7]),
        stretch(8, 8),
    ]
    assert checked(written(items, {"home": LINKS})) == []
    items[1] = link_item(LINKS[2]._replace(actor="ann"))
    assert checked(written(items, {"home": LINKS})) == [("changed", 3)]
    del items[2]
    assert ("gap", 4) in checked(written(items, {"home": LINKS}))


def test_a_gap_and_a_cut_are_found() -> None:
    items = [link_item(link) for link in LINKS]
    assert checked(written(items[:3] + items[4:], {"home": LINKS})) == [("gap", 4)]
    assert checked(written(items[:6], {"home": LINKS})) == [("cut", 7)]
    assert checked(written([], {"home": LINKS})) == [("cut", 1)]


def test_what_one_chain_remembers_of_another_is_compared() -> None:
    anew = chained(8, details={2: {"attempt": 9}})
    items = [link_item(link) for link in (*anew, *OTHER)]
    assert checked(written(items, {"home": anew, "other": OTHER})) == [("anchor", 6)]
    alone = [link_item(link) for link in OTHER]
    assert checked(written(alone, {"other": OTHER})) == [], "with one chain there is nothing to compare with"


def line(text: str, number: int, old: str, new: str) -> str:
    lines = text.splitlines(keepends=True)
    assert old in lines[number]
    lines[number] = lines[number].replace(old, new)
    return "".join(lines)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: line(text, 0, '"made_by": "ann"', '"made_by": "bob"'),
        lambda text: line(text, 0, '"partial": false', '"partial": true'),
        lambda text: line(text, 1, '"actor": "gateway"', '"actor": "ann"'),  # of an entry that no chain protects
        lambda text: "".join(text.splitlines(keepends=True)[:1] + text.splitlines(keepends=True)[2:]),
        lambda text: line(text, -1, '"count": 13', '"count": 12'),
        lambda text: line(text, -1, '"digest": "', '"digest": "0'),
        lambda text: line(text, -1, '"signature": "', '"signature": "0'),
        lambda text: "".join(text.splitlines(keepends=True)[:-1]),
    ],
)
def test_whatever_was_changed_after_signing_is_found(change: Callable[[str], str]) -> None:
    assert checked(change(written())) == [("signature", None)]


def test_it_is_checked_against_its_own_key_where_none_is_known_and_against_those_that_are() -> None:
    theirs = written(key=PlainKey("plain:two"))
    assert checked(theirs, ()) == []
    assert checked(theirs) == [("signature", None)]
    assert checked(theirs, {KEY.public, "plain:two"}) == []
    resigned = theirs.replace('"key": "plain:two"', '"key": "plain:one"')
    assert checked(resigned, ()) == [("signature", None)]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "line 1"),
        ("hello\n", "line 1"),
        ("[]\n", "an object is expected"),
        ("{}", "no export"),
        ('{"horae": "journal export 2", "chains": {}, "entries": []}', "no export"),
        ('{"horae": "journal export 1", "chains": {}, "entries": [\n{"entry": 1}\n], "count": 1}\n', "form"),
        ('{"horae": "journal export 1", "chains": {}, "entries": [\nnonsense\n', "line 2"),
        ('{"horae": "journal export 1", "chains": {}, "entries": [1]}', "no object"),
        ('{"horae": "journal export 1", "chains": {}, "entries": [\n{"pruned": {"chain": "home"}}\n', "form"),
    ],
)
def test_what_is_no_export_is_refused(text: str, says: str) -> None:
    with pytest.raises(Invalid, match=says):
        checked(text)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace('"actor": "', '"actor": "\\ud800', 1),
        lambda text: text.replace('"made_by": "', '"made_by": "\\ud800', 1),
        lambda text: text.replace('"number": 3', '"number": NaN', 1),
        lambda text: text.replace('"number": 3', '"number": true', 1),
        lambda text: text.replace('"number": 3', '"number": 99999999999999999999', 1),
        lambda text: re.sub(r'"at": \d+', '"at": "x"', text, count=1),
        lambda text: re.sub(r'"at": \d+', '"at": 1e300', text, count=1),
        lambda text: re.sub(r'"key": "plain[^"]*"', '"key": ["x"]', text, count=1),
        lambda text: text.replace('"chain": "home"', '"chain": null', 1),
        lambda text: text.replace("\n", "\n" + "[" * 100_000 + "\n", 1),
        lambda text: "[" * 100_000,
        lambda text: text.replace("\n", '\n{"pruned": null},\n', 1),
    ],
)
def test_what_no_export_can_hold_is_refused(change: Callable[[str], str]) -> None:
    with pytest.raises(Invalid):
        checked(change(written()))


def test_nothing_may_stand_behind_its_end() -> None:
    with pytest.raises(Invalid, match="behind the end"):
        checked(written() + "more\n")
