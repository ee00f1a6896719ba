"""The guide's tables of schedules, read line by line."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from horae.core.text import one_line
from horae.errors import Invalid
from horae.timing.cron.line import WORDS
from horae.timing.phrases import grammar
from horae.timing.phrases.forms import SCHEDULE
from horae.timing.phrases.phrase import FORMS
from horae.timing.schedule import parse_schedule
from tools import generate, railroads

GUIDE_FOLDER = Path(__file__).parents[2] / "docs" / "guide"
GUIDE = (GUIDE_FOLDER / "schedules.md").read_text(encoding="utf-8")
MONDAY = datetime(2026, 11, 30, 8, 30, tzinfo=UTC)  # 09:30 in Paris, as the guide says
LATER = datetime(2027, 5, 17, 21, 5, tzinfo=UTC)  # what is written means the same for ever


def table(head: str) -> list[tuple[str, str]]:
    """The rows of all tables with this heading."""
    found: list[tuple[str, str]] = []
    for body in re.findall(rf"^\| you write \| {re.escape(head)} \|\n\|---\|---\|\n((?:\|.*\n)+)", GUIDE, re.MULTILINE):
        found += re.findall(r"^\| `([^`]+)` \| (.+?) \|$", body, re.MULTILINE)
    assert found
    return found


@pytest.mark.parametrize(("text", "meaning"), table("it means"))
def test_a_form_means_what_the_guide_says(text: str, meaning: str) -> None:
    read = parse_schedule(text, "Europe/Paris", anchor=MONDAY)
    assert read.meaning == meaning
    assert parse_schedule(read.written, "Europe/Paris", anchor=LATER).set == read.set
    assert parse_schedule(meaning, "Europe/Paris", anchor=LATER).set == read.set


@pytest.mark.parametrize("meaning", [meaning for _, meaning in table("it means")])
def test_what_a_form_means_is_a_form_too(meaning: str) -> None:
    read = parse_schedule(meaning, "Europe/Paris", anchor=LATER)
    assert read.meaning == meaning
    assert read.kind in ("once", "interval", "phrase")


@pytest.mark.parametrize(("text", "_warning"), table("warning"))
def test_what_is_warned_about_is_accepted(text: str, _warning: str) -> None:
    assert parse_schedule(text, "Europe/Paris", anchor=MONDAY).warnings


@pytest.mark.parametrize(("text", "_why"), table("why not, and what to write"))
def test_what_is_refused_is_refused(text: str, _why: str) -> None:
    with pytest.raises(Invalid) as refusal:
        parse_schedule(text, "Europe/Paris", anchor=MONDAY)
    assert one_line(refusal.value.message, 400)


def test_every_form_is_in_the_guide() -> None:
    shown = {text for text, _ in table("it means")}
    assert set(FORMS) <= shown
    assert set(WORDS) <= shown


def test_what_the_guide_says_to_write_instead_is_accepted() -> None:
    for _, why in table("why not, and what to write"):
        for text in re.findall(r"`([^`]+)`", why):
            if len(text.split()) > 1:
                assert parse_schedule(text, "Europe/Paris", anchor=MONDAY)


def test_the_drawings_of_the_grammar_are_fresh() -> None:
    wanted = generate.pictures()
    stale = [path.name for path, text in wanted.items() if not path.exists() or path.read_text("utf-8") != text]
    assert not stale, f"`make generate` writes {', '.join(stale)}"
    assert set(wanted) == set(GUIDE_FOLDER.parent.joinpath("images").glob("phrases-*.svg")), "one is drawn no more"


def test_every_name_in_the_grammar_is_one_rule() -> None:
    found: dict[str, grammar.Rule] = {}
    left: list[grammar.Part] = [SCHEDULE]
    while left:
        part = left.pop()
        if isinstance(part, grammar.Rule) and part.name:
            if found.setdefault(part.name, part) is not part:
                pytest.fail(f"two rules are called {part.name!r}: the page would show one of them only")
            left += [inner for inner in railroads.inside(part.part) if inner is not part]
