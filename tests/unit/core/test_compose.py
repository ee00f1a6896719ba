"""From deliveries to a message: what is in it, what nobody can smuggle into it, and what a program reads off it."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.core.compose import compose, run_link, title_of
from horae.core.delivery import Address, Item, Message, Parcel, Platform
from horae.core.markup import html, plain
from horae.core.text import clean_name
from horae.limits import DIGEST_CHARS_MAX
from tests.support.builders import START

PARIS = timezone(timedelta(hours=1))
HOSTILE = [
    "**bold** and `code`",
    "[click me](https://evil.example)",
    "<script>alert(1)</script>",
    "![x](https://evil.example/x.png)",
    "# head",
    "a * b _ c ~~d~~",
    "back\\slash \\",
    "`",
    "&amp; &lt;b&gt;",
    "$(reboot) `reboot`",
    "{0} {slug} %s",
    "1. one",
    "--- x ---",
    "|a|b|",
]


def an_item(number: int = 7, **given: Any) -> Item:
    values: dict[str, Any] = {
        "delivery_id": number, "kind": "result", "title": "Tides", "body": "High water at 06:12", "format": "text",
        "alert": False, "target": "ops", "run_id": "aaaabbbbccccdddd", "job_id": "0c1d2e3f4a5b", "slug": "tides",
        "key": "k" * 32, "slot": START.astimezone(PARIS), "state": "completed",
    }  # fmt: skip
    return Item(**(values | given))


def composed(*items: Item, link: str | None = None, redact: Any = str, **platform: Any) -> Message:
    parcel = Parcel("ops:1", 5, 1, START, items or (an_item(),))
    return compose(parcel, Address("ops", "1"), Platform("ops", "file", **platform), "/srv/horae", link, redact)


# ── a letter


def test_header_and_footer_stand_around_the_body() -> None:
    assert composed().body == (
        "Tides · 2026-03-02 09:00\n\nHigh water at 06:12\n\nrun aaaabbbbccccdddd · horae log aaaabbbbccccdddd"
    )


@pytest.mark.parametrize(
    ("header", "footer", "parts"), [(True, True, 3), (True, False, 2), (False, True, 2), (False, False, 1)]
)
@pytest.mark.parametrize("format", ["text", "markdown"])
def test_each_can_be_left_out(header: bool, footer: bool, parts: int, format: str) -> None:
    found = composed(an_item(format=format), header=header, footer=footer)
    assert len(found.body.split("\n\n")) == parts
    assert ("2026-03-02" in found.body) is header
    assert ("horae log" in found.body) is footer
    assert found.title == "Tides"
    assert found.format == format


def test_what_has_no_slot_and_no_run_has_neither_in_it() -> None:
    found = composed(an_item(slot=None, run_id=None, incident_id="1f2e3d4c", kind="reminder", title="Tides: still"))
    assert found.body == "Tides: still\n\nHigh water at 06:12"
    assert found.id == "1f2e3d4c.7"
    assert composed(an_item(run_id=None)).id == "horae.7"


def test_the_link_of_the_dashboard_leads_to_the_run() -> None:
    found = composed(link="https://horae.example.org")
    assert found.body.endswith("· horae log aaaabbbbccccdddd · https://horae.example.org/runs/aaaabbbbccccdddd")
    assert found.facts["link"] == "https://horae.example.org/runs/aaaabbbbccccdddd"
    assert run_link("https://h", None) is None
    assert run_link(None, "r") is None


def test_in_markdown_the_header_is_bold_and_the_command_is_code() -> None:
    found = composed(an_item(format="markdown", body="# Tides\n\n- high: *6*"))
    assert found.body.startswith("**Tides · 2026-03-02 09:00**\n\n# Tides\n\n- high: *6*\n\n")
    assert found.body.endswith("`horae log aaaabbbbccccdddd`")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_means_nothing_inside_of_markdown(name: str) -> None:
    body = composed(an_item(title=name, format="markdown", body="done", slot=None), footer=False).body
    shown = html(body, "markdown")
    assert shown.startswith("<p><strong>")
    assert not any(tag in shown for tag in ("<a ", "<img", "<script", "<code", "<em", "<h1", "<table"))
    assert plain(body, "markdown").split("\n")[0] == name


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=80).map(clean_name).filter(bool))
def test_no_name_at_all_does(name: str) -> None:
    body = composed(an_item(title=name, format="markdown", body="done", slot=None), footer=False).body
    assert "<a " not in html(body, "markdown")
    assert "<code" not in html(body, "markdown")
    assert body.split("\n\n")[1:] == ["done"]


@pytest.mark.parametrize("name", HOSTILE)
def test_in_text_a_name_stays_what_it_is(name: str) -> None:
    found = composed(an_item(title=name))
    assert found.body.startswith(f"{name} · 2026-03-02 09:00\n\n")
    assert found.title == name


def test_the_body_is_not_touched() -> None:
    body = "  two blanks, <b>html</b>, **stars**, {braces}, \\ and a\ttab\n\n\nand lines  "
    assert body in composed(an_item(body=body)).body


# ── what goes with it


def test_attachments_are_those_of_the_run_under_their_own_names() -> None:
    found = composed(an_item(attachments=("tides.png", "more/deep/a.csv")))
    files = "/srv/horae/state/output/aaaabbbbccccdddd/files"
    assert [(one.name, one.path) for one in found.attachments] == [
        ("tides.png", f"{files}/tides.png"),
        ("a.csv", f"{files}/more/deep/a.csv"),
    ]


def test_secrets_are_taken_out_of_all_that_people_read() -> None:
    found = composed(
        an_item(title="Tides hunter2", body="pw hunter2"), redact=lambda text: text.replace("hunter2", "…")
    )
    assert "hunter2" not in found.title + found.body


def test_a_secret_in_a_digest_is_taken_out_too() -> None:
    found = composed(
        an_item(1, body="hunter2"), an_item(2, title="hunter2"), redact=lambda text: text.replace("hunter2", "…")
    )
    assert "hunter2" not in found.title + found.body


@pytest.mark.parametrize(
    "items", [(an_item(),), (an_item(slot=None, run_id=None, state=None),), (an_item(1), an_item(2))]
)
def test_facts_are_plain_json(items: tuple[Item, ...]) -> None:
    facts = composed(*items, link="https://h").facts
    assert json.loads(json.dumps(facts)) == facts


def test_facts_say_what_it_is_about() -> None:
    assert composed(an_item(state="failed", alert=True, kind="alert", incident_id="1f2e3d4c")).facts == {
        "kind": "alert",
        "run": "aaaabbbbccccdddd",
        "job": "tides",
        "job_id": "0c1d2e3f4a5b",
        "slot": "2026-03-02T09:00:00+01:00",
        "state": "failed",
        "alert": True,
        "incident": "1f2e3d4c",
        "link": None,
    }


# ── a digest


def test_a_digest_is_all_of_them_in_their_order() -> None:
    found = composed(an_item(3), an_item(5, title="Mail", body=" 2 new \n", run_id="ffff"), an_item(9, slot=None))
    assert found.title == "3 results"
    assert found.format == "text"
    assert found.id == "aaaabbbbccccdddd.3.digest"
    assert found.body == (
        "── Tides · 2026-03-02 09:00 ──\nHigh water at 06:12\n\n"
        "── Mail · 2026-03-02 09:00 ──\n2 new\n\n"
        "── Tides ──\nHigh water at 06:12"
    )
    assert found.facts["kind"] == "digest"
    results: Any = found.facts["results"]
    assert [each["run"] for each in results] == ["aaaabbbbccccdddd", "ffff", "aaaabbbbccccdddd"]


def test_one_that_is_alone_in_its_digest_is_a_letter() -> None:
    assert composed(an_item()).body.startswith("Tides · ")


def test_a_digest_of_markdown_is_text_and_has_no_files() -> None:
    found = composed(an_item(1, format="markdown", attachments=("a.png",)), an_item(2))
    assert found.format == "text"
    assert [one.name for one in found.attachments] == ["tides-a.png"], "each says whose it is"


@pytest.mark.parametrize(("alerts", "is_one"), [((False, False), False), ((False, True), True), ((True, True), True)])
def test_it_is_an_alert_if_one_of_them_is(alerts: tuple[bool, ...], is_one: bool) -> None:
    assert composed(*(an_item(number, alert=alert) for number, alert in enumerate(alerts))).alert is is_one


def test_what_is_long_in_a_digest_is_cut_and_says_where_the_whole_is() -> None:
    long = "x" * (DIGEST_CHARS_MAX + 1)
    found = composed(an_item(1, body=long), an_item(2, body=long, run_id=None))
    first, second = found.body.split("\n\n")
    assert first.endswith(f"x…\n({DIGEST_CHARS_MAX + 1} characters; the whole: horae log aaaabbbbccccdddd)")
    assert second.endswith("the whole: horae incidents)")
    assert len(found.body) < 2 * (DIGEST_CHARS_MAX + 200)
    assert "…" not in composed(an_item(1, body="x" * DIGEST_CHARS_MAX), an_item(2)).body


# ── titles


@pytest.mark.parametrize(
    ("kind", "state", "title"),
    [
        ("result", "completed", "Tides"),
        ("alert", "failed", "Tides: failed"),
        ("alert", "blocked", "Tides: blocked"),
        ("alert", "unknown", "Tides: outcome unknown"),
        ("alert", "cancelled", "Tides: cancelled"),
        ("alert", None, "Tides: alert"),
        ("reminder", None, "Tides: still has trouble"),
        ("recovery", None, "Tides: works again"),
        ("overdue", None, "Tides: is overdue"),
        ("quiet", None, "Tides: says nothing"),
        ("undelivered", None, "Tides: could not be delivered"),
    ],
)
def test_a_title_says_what_it_is_about(kind: str, state: str | None, title: str) -> None:
    assert title_of(kind, "Tides", state) == title


def test_times_are_those_of_the_job() -> None:
    slot = datetime(2026, 10, 25, 2, 30, tzinfo=timezone(timedelta(hours=2)))
    assert composed(an_item(slot=slot)).body.startswith("Tides · 2026-10-25 02:30\n")
