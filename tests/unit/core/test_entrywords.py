"""Entries of the journal in sentences: every kind that is documented has words, and none can break a page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.core import entrywords
from horae.core.entrywords import entry_words

DOC = Path(__file__).parents[3] / "docs" / "reference" / "journal.md"
TABLES = (entrywords.MESSAGES, entrywords.OF_JOBS, entrywords.OF_SLOTS, entrywords.OF_RUNS, entrywords.OF_THE_HOUSE)
KNOWN = sorted({what for table in TABLES for what in table})


def said(what: str, actor: str = "gateway", **detail: Any) -> str:
    return entry_words({"what": what, "actor": actor, "detail": detail})


def test_every_documented_kind_has_words() -> None:
    documented = set(re.findall(r"^\| `(\w+)` \|", DOC.read_text(encoding="utf-8"), re.MULTILINE))
    assert documented <= set(KNOWN)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (said("claimed", late_s=0.004, attempt=1, missed=0), "Claimed on time"),
        (
            said("claimed", late_s=65, attempt=2, missed=3),
            "Claimed 1 min 5 s after it was due, attempt 2; it stands for 3 missed before it",
        ),
        (said("completed", took_s=2.0, reason="exit status 0"), "Completed after 2.0 s: exit status 0"),
        (said("paused", "ada", reason="until Monday"), "ada paused the job: until Monday"),
        (said("cancelled", "ada", reason="not now"), "Cancelled by ada: not now"),
        (said("failed", target="pager", reason="no route"), "The message to pager was refused: no route"),
        (said("resolved", "ada", **{"as": "completed"}), "ada said that it had done its work"),
        (said("missed", slots=4, reason="no gateway"), "4 slots passed unrun: no gateway"),
        (said("moved", "ada", to="2026-12-24T18:00:00+01:00"), "ada moved a slot to Thu 24 Dec 2026, 18:00"),
        (said("undone", "ada", entry=7), "ada took entry 7 back"),
        (said("created", meaning="every day at 09:00", next=[]), "A new job: every day at 09:00; it has no slot ahead"),
        (said("clock_changed", stepped_s=-3.0, slept_s=0), "The clock was set back by 3.0 s"),
        (said("never_heard_of", reason="x"), "Never heard of: reason x"),
    ],
)
def test_words(told: str, words: str) -> None:
    assert told == words


@given(
    st.sampled_from([*KNOWN, "strange"]),
    st.dictionaries(st.sampled_from(["reason", "target", "as", "to", "slots", "kind", "run", "was"]), st.text()),
)
def test_what_lacks_something_or_is_foreign_is_told_on_one_line_all_the_same(what: str, detail: dict[str, str]) -> None:
    told = said(what, "\u202eada\n", **detail)
    assert told
    assert "\n" not in told
    assert "\u202e" not in told
    assert len(told) <= entrywords.SHOWN_CHARS
