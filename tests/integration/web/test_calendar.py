"""The calendar in a real browser: what was and what will be, and that a slot goes where it is put, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.support.process import TestHome
from tests.support.showcase import furnish
from tests.support.web import Served, accessible, axe, served, told, visiting

HOSTILE = "<img src=x onerror=alert(1)> \"'&"
FAST = {"timeout": 30_000}  # on a machine where much else is tried at once


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A home with a past, whose gateway runs."""
    home = TestHome(tmp_path_factory.mktemp("calendar") / "home", inside=True)
    home.horae("init")
    furnish(home)
    home.horae("add", "every day at 12:00", "--name", HOSTILE, "--script", "mail.sh")
    home.horae("add", "every day at 2:30", "--name", "Early", "--script", "mail.sh")
    with served(home) as made:
        yield made


@pytest.fixture(scope="module")
def at(chrome: Any, shown: Served) -> Iterator[Any]:
    """One visitor, whose browser is on the other side of the world: what they see is the home's time all the same."""
    with visiting(chrome, shown, timezone_id="Pacific/Auckland") as made:
        yield made


def opened(page: Any, shown: Served, query: str, *, width: int = 1280) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{shown.address}/calendar?{query}")
    page.locator("#calendar[aria-busy=false] .ec-day").first.wait_for(**FAST)


def slots(shown: Served, job: str, count: int = 14) -> list[dict[str, Any]]:
    return shown.home.look("next", job, "-n", str(count))["slots"]


def drawn(page: Any, key: str) -> Any:
    return page.locator(f'.ec-event:has([data-id="{key}"])').first


def hostile(shown: Served) -> str:
    return next(job["slug"] for job in shown.home.look("list")["jobs"] if "img" in job["name"])


def drag(page: Any, key: str, to: str) -> None:
    """From the day on which a slot stands to another of the month."""
    event, day = drawn(page, key), page.locator(f'.ec-day:has(time[datetime="{to}"])').first
    event.scroll_into_view_if_needed()
    box, place = event.bounding_box(), day.bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + 8)
    page.mouse.down()
    page.mouse.move(box["x"] + 60, box["y"] + 12, steps=4)
    page.mouse.move(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2, steps=8)
    page.mouse.up()


def later(shown: Served) -> tuple[dict[str, Any], dict[str, Any]]:
    """A slot of the harbour's job in the month's middle of a week, and the day after it: both in one row of the month."""
    for slot in slots(shown, "harbour-tides"):
        at = datetime.fromisoformat(slot["slot"])
        if at.weekday() in (1, 2) and slot["note"] is None and at - datetime.now(at.tzinfo) > timedelta(days=1):
            return slot, {"day": (at + timedelta(days=1)).date().isoformat()}
    raise AssertionError("two weeks have no Tuesday")


def test_each_view_shows_what_was_and_what_will_be_with_its_outcome(at: Any, shown: Served) -> None:
    for view, drawn_as in (
        ("month", "ec-day-grid"),
        ("week", "ec-time-grid"),
        ("day", "ec-time-grid"),
        ("agenda", "ec-list"),
    ):
        opened(at, shown, f"view={view}")
        assert at.locator(f".{drawn_as}").count(), view
        assert at.locator(f"button[data-view={view}]").get_attribute("aria-pressed") == "true"
        at.locator(".ec-event").first.wait_for(**FAST)
        assert f"view={view}" in at.url
    today = datetime.fromisoformat(at.locator("#calendar").get_attribute("data-now")).date()
    opened(at, shown, f"view=agenda&date={today}&outcome=trouble")
    row = at.locator(".ec-event", has_text="Renew certificates").first
    row.wait_for(**FAST)
    assert "unknown" in row.inner_text()
    assert "?" in row.locator(".sign").inner_text()
    assert not at.locator(".e-completed").count(), "only trouble was asked for"
    opened(at, shown, "view=list&date=" + str(today + timedelta(days=1)) + "&job=fetch-mail")
    assert at.locator(".ec-event").count() in (92, 96, 100), "each slot of the day, also one on which the clock changes"
    opened(at, shown, "view=month")
    at.locator(".ec-day-foot a").first.click()
    popup = at.locator(".ec-popup")
    popup.locator(".ec-event").first.wait_for(**FAST)
    outer = popup.bounding_box()
    for one in popup.locator(".ec-event").all():
        inner = one.bounding_box()
        assert outer["x"] <= inner["x"], "what does not fit into its day stays within its list"
        assert inner["x"] + inner["width"] <= outer["x"] + outer["width"]
    opened(at, shown, "view=month&job=fetch-mail")
    at.locator(".ec-event", has_text="96×").first.click()
    at.locator("#calendar[data-view=list] .ec-event").first.wait_for(**FAST)
    assert "job=fetch-mail" in at.url


def test_hours_are_the_homes_wherever_the_browser_is(at: Any, shown: Served) -> None:
    slot = next(one for one in slots(shown, "nightly-backup") if one["note"] is None)
    opened(at, shown, f"view=agenda&date={slot['slot'][:10]}")
    row = drawn(at, slot["key"])
    assert row.locator(".at").inner_text() == slot["slot"][11:16] == "23:30"
    assert at.locator("#calendar-card").get_by_text("Europe/Paris").count()
    now = datetime.fromisoformat(at.locator("#calendar").get_attribute("data-now"))
    opened(at, shown, "view=month")
    assert at.locator(".ec-day.ec-today time, .ec-today time").first.get_attribute("datetime") == now.date().isoformat()


def test_a_drag_moves_exactly_that_slot_and_undo_puts_it_back(at: Any, shown: Served) -> None:
    slot, to = later(shown)
    before = {one["key"]: one["due"] for one in slots(shown, "harbour-tides")}
    opened(at, shown, f"view=month&date={slot['slot'][:10]}&job=harbour-tides")
    drag(at, slot["key"], to["day"])
    notice = told(at, "Will move")
    after = {one["key"]: one["due"] for one in slots(shown, "harbour-tides")}
    assert after.pop(slot["key"]) == to["day"] + slot["due"][10:]
    assert after == {key: due for key, due in before.items() if key != slot["key"]}, "the others stay"
    story = str(shown.home.horae("why", "harbour-tides", slot["slot"]))
    assert "moved" in story
    notice.get_by_role("button", name="Undo").click()
    told(at, "Put the slot")
    assert {one["key"]: one["due"] for one in slots(shown, "harbour-tides")} == before


def test_a_drag_that_is_refused_goes_back_and_says_why(at: Any, shown: Served) -> None:
    slot, to = later(shown)
    opened(at, shown, f"view=month&date={slot['slot'][:10]}&job=harbour-tides")
    before = drawn(at, slot["key"]).bounding_box()
    refusal = {"detail": "that slot is being run now already", "hint": "look at `horae why`", "code": "refused"}
    at.route("**/calendar/move", lambda route: route.fulfill(status=409, json=refusal))
    drag(at, slot["key"], to["day"])
    notice = told(at, "being run now")
    assert "bad" in notice.get_attribute("class")
    assert drawn(at, slot["key"]).bounding_box() == before
    at.unroute("**/calendar/move")
    (complaint,) = at.troubles  # of the browser, about the refusal
    assert "409" in complaint
    at.troubles.clear()


def test_by_keyboard_a_slot_is_moved_skipped_and_taken_back(at: Any, shown: Served) -> None:
    slot, to = later(shown)
    opened(at, shown, f"view=agenda&date={slot['slot'][:10]}&job=harbour-tides")
    drawn(at, slot["key"]).locator("button").focus()
    at.keyboard.press("Enter")
    dialog = at.get_by_role("dialog", name="Harbour tides")
    dialog.wait_for(**FAST)
    axe(at, "#slot")
    dialog.get_by_label("Move to").fill(f"{to['day']}T06:15")
    at.keyboard.press("Enter")
    told(at, "Will move")
    (moved,) = [one for one in slots(shown, "harbour-tides") if one["key"] == slot["key"]]
    assert moved["due"][:16] == f"{to['day']}T06:15"
    row = drawn(at, slot["key"])
    row.get_by_text("moved").first.wait_for(**FAST)
    row.click()
    dialog.get_by_role("button", name="Take back").press("Enter")
    told(at, "Put the slot")
    at.locator(f'.ec-event.e-planned:has([data-id="{slot["key"]}"])').wait_for(**FAST)
    drawn(at, slot["key"]).click()
    dialog.get_by_role("button", name="What was decided").click()
    dialog.locator(".decisions li").first.wait_for(**FAST)
    dialog.get_by_role("button", name="Skip this slot").click()
    notice = told(at, "Will skip")
    at.locator(f'.ec-event.e-skipped:has([data-id="{slot["key"]}"])').wait_for(**FAST)
    assert [one["note"] for one in slots(shown, "harbour-tides") if one["key"] == slot["key"]] == ["skipped"]
    notice.get_by_role("button", name="Undo").click()
    at.locator(f'.ec-event.e-planned:has([data-id="{slot["key"]}"])').wait_for(**FAST)
    drawn(at, slot["key"]).locator("button").focus()
    at.keyboard.press("Delete")
    notice = told(at, "Will skip")
    at.locator(f'.ec-event.e-skipped:has([data-id="{slot["key"]}"])').wait_for(**FAST)
    notice.get_by_role("button", name="Undo").click()
    at.locator(f'.ec-event.e-planned:has([data-id="{slot["key"]}"])').wait_for(**FAST)


def test_what_is_refused_is_told_and_changes_nothing(at: Any, shown: Served) -> None:
    slot, _ = later(shown)
    before = slots(shown, "harbour-tides")
    opened(at, shown, f"view=agenda&date={slot['slot'][:10]}&job=harbour-tides")
    drawn(at, slot["key"]).click()
    dialog = at.get_by_role("dialog", name="Harbour tides")
    dialog.get_by_label("Move to").fill("2021-01-01T10:00")
    dialog.get_by_role("button", name="Move", exact=True).click()
    dialog.get_by_role("alert").wait_for(**FAST)
    assert "in the past" in dialog.get_by_role("alert").inner_text()
    (complaint,) = at.troubles  # of the browser, about the refusal
    assert "422" in complaint
    at.troubles.clear()
    at.keyboard.press("Escape")
    assert slots(shown, "harbour-tides") == before


def test_what_is_past_stays_where_it_is(at: Any, shown: Served) -> None:
    yesterday = datetime.fromisoformat(at.locator("#calendar").get_attribute("data-now")).date() - timedelta(days=1)
    opened(at, shown, f"view=day&date={yesterday}&job=morning-briefing")
    event = at.locator(".ec-event").first
    event.wait_for(**FAST)
    assert "ec-draggable" not in (event.get_attribute("class") or "")
    event.click()
    dialog = at.get_by_role("dialog", name="Morning briefing")
    dialog.get_by_role("link").nth(1).wait_for(**FAST)
    assert "/runs/" in dialog.get_by_role("link").nth(1).get_attribute("href")
    assert not dialog.get_by_label("Move to").is_visible()
    assert not dialog.get_by_role("button", name="Skip this slot").count()
    at.keyboard.press("Escape")


def test_days_on_which_the_clock_changes_say_so(at: Any, shown: Served) -> None:
    opened(at, shown, "view=month&date=2027-03-15&job=early")
    mark = at.locator(".ec-event.e-clock", has_text="forward 1 hour")
    mark.wait_for(**FAST)
    assert at.locator(".ec-event.e-clock").count() >= 1
    opened(at, shown, "view=agenda&date=2027-03-28&job=early")
    text = at.locator("#calendar").inner_text()
    assert "02:00 becomes 03:00" in text
    opened(at, shown, "view=month&date=2027-10-15&job=early")
    at.locator(".ec-event.e-clock", has_text="back 1 hour").wait_for(**FAST)


def test_names_from_outside_are_text(at: Any, shown: Served) -> None:
    opened(at, shown, f"view=agenda&job={hostile(shown)}")
    row = at.locator(".ec-event", has_text="<img src=x").first
    row.wait_for(**FAST)
    row.click()
    assert "<img src=x onerror=alert(1)>" in at.locator("#slot-title").inner_text()
    assert not at.locator("#calendar img, #slot img").count()
    at.keyboard.press("Escape")


def test_news_are_drawn_without_a_reload_and_a_view_without_slots_says_so(at: Any, shown: Served) -> None:
    slot, _ = later(shown)
    opened(at, shown, f"view=agenda&date={slot['slot'][:10]}&job=harbour-tides")
    drawn(at, slot["key"]).wait_for(**FAST)
    entry = shown.home.json("skip", "harbour-tides", slot["slot"])
    at.locator(f'.ec-event.e-skipped:has([data-id="{slot["key"]}"])').wait_for(**FAST)
    shown.home.horae(*entry["undo"].split()[1:])
    at.locator(f'.ec-event.e-planned:has([data-id="{slot["key"]}"])').wait_for(**FAST)
    opened(at, shown, "view=month&date=1999-01-01")
    at.get_by_text("Nothing in these days").first.wait_for(**FAST)


def test_whoever_may_only_read_changes_nothing(chrome: Any, shown: Served) -> None:
    slot, _ = later(shown)
    reader = shown.api("read")
    asked = {"job": "harbour-tides", "slot": slot["slot"], "at": "2030-01-01T10:00"}
    assert reader.post("/calendar/move", json=asked).status_code == 403
    drawn_for = reader.get("/calendar", headers={"accept": "text/html"})
    assert 'data-edit="no"' in drawn_for.text
    day = datetime.fromisoformat(slot["slot"]).date()
    asked = {"start": day.isoformat(), "end": (day + timedelta(days=1)).isoformat(), "view": "week"}
    for client, movable in ((reader, False), (shown.api("operate"), True)):
        (event,) = [
            one for one in client.get("/calendar/events", params=asked).json()["events"] if one["id"] == slot["key"]
        ]
        assert event["startEditable"] is movable
    events = reader.get("/calendar/events", params={"start": slot["slot"][:10], "end": "2030-01-01", "view": "month"})
    assert events.status_code == 422, "62 days are the most"
    assert "62 days" in events.json()["detail"]


def test_it_is_accessible_in_both_schemes_and_a_phone_gets_a_list(at: Any, shown: Served) -> None:
    for view in ("month", "week", "agenda"):
        opened(at, shown, f"view={view}")
        at.locator(".ec-event").first.wait_for(**FAST)
        accessible(at)
    at.set_viewport_size({"width": 360, "height": 740})
    at.goto(f"{shown.address}/calendar")
    at.locator("#calendar[data-view=agenda] .ec-list").wait_for(**FAST)
