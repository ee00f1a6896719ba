"""`why` in plain words: what a person reads about a slot, past or to come."""

from __future__ import annotations

import pytest

from tests.support.later import PlayedGateway, at
from tests.support.process import TestHome

SCHEDULE = "0 9 * * *"


def add(home: TestHome, *words: str, schedule: str = SCHEDULE, name: str = "Nine") -> None:
    home.json("add", schedule, "--script", "hi.sh", "--name", name, "--timezone", "UTC", *words)


def story(home: TestHome, *words: str) -> list[str]:
    (item,) = home.json("why", *words)["occurrences"]
    return item["story"]


@pytest.fixture
def nine(home: TestHome) -> TestHome:
    """A job at nine, made the evening before; a gateway ran until 08:50."""
    with at("2026-11-29T20:00"):
        add(home)
        gateway = PlayedGateway(home, "2026-11-29T20:00")
    gateway.sign_off("2026-11-30T08:50")
    return home


def test_the_chain_of_decisions_of_a_late_run(nine: TestHome) -> None:
    PlayedGateway(nine, "2026-11-30T14:00", "g2").work("2026-11-30T14:00:01")
    with at("2026-11-30T15:00"):
        assert story(nine, "nine", "2026-11-30T09:00") == [
            "planned by the cron line 0 9 * * * (UTC)",
            "due 09:00",
            "the gateway was down 08:50–14:00",
            "catch-up is once",
            "started 14:00:01, 5 h 0 min late",
            "completed 14:00:01: exit status 0",
            "delivered to local",
        ]
        said = nine.horae("why", "nine", "2026-11-30T09:00").out
        assert "due 09:00; the gateway was down 08:50–14:00; catch-up is once; started 14:00:01, 5 h 0 min late" in said
        assert "gateway: claimed, 5 h 0 min after it was due" in said


def test_a_gateway_that_was_killed_was_last_heard_of(home: TestHome) -> None:
    with at("2026-11-29T20:00"):
        add(home)
        add(home, schedule="50 8 * * *", name="Earlier")
        gateway = PlayedGateway(home, "2026-11-29T20:00")
    gateway.work("2026-11-30T08:50")
    gateway.die()
    PlayedGateway(home, "2026-11-30T14:00", "g2").work("2026-11-30T14:00")
    with at("2026-11-30T15:00"):
        (heard,) = [line for line in story(home, "nine", "2026-11-30T09:00") if "gateway" in line]
        assert heard == "the gateway was last heard of at 08:50, and none began before 14:00"


def test_days_of_downtime_are_one_row_each_or_a_span(home: TestHome) -> None:
    with at("2026-11-27T20:00"):
        add(home)
        add(home, schedule="* * * * *", name="Minutely")
        gateway = PlayedGateway(home, "2026-11-27T20:00")
    gateway.sign_off("2026-11-27T20:00:30")
    PlayedGateway(home, "2026-11-30T14:00", "g2").work("2026-11-30T14:00")
    with at("2026-11-30T15:00"):
        missed = story(home, "nine", "2026-11-29T09:00")
        assert missed[1:4] == [
            "due 09:00",
            "the gateway was down 20:00:30 on 2026-11-27–14:00 on 2026-11-30",
            "catch-up is once",
        ]
        assert missed[4].startswith("missed at 14:00 on 2026-11-30: nothing was running to start it in time")
        ran = story(home, "nine", "2026-11-30T09:00")
        assert "started 14:00, 5 h 0 min late, for 2 missed slots before it too" in ran
        span = story(home, "minutely", "2026-11-28T12:34")
        assert span[1] == "3,959 slots were due, 20:01 to 13:59 on 2026-11-30"


def test_a_slot_that_waits_while_nothing_runs(nine: TestHome) -> None:
    with at("2026-11-30T10:00"):
        assert story(nine, "nine", "next") == [
            "planned by the cron line 0 9 * * * (UTC)", "due 09:00", "no gateway has run since 08:50",
        ]  # fmt: skip


def test_slots_to_come(nine: TestHome) -> None:
    with at("2026-11-30T08:00"):
        idle = "no gateway is running for this home: nothing fires until `horae up`"
        assert story(nine, "nine", "next")[1:] == ["due 09:00", idle]
        ahead = story(nine, "nine", "2026-12-24T09:00")
        assert ahead == [
            "a slot of the cron line 0 9 * * * (UTC)", "due 09:00", "it gets a row when the slot before it is used up", idle,
        ]  # fmt: skip
        key = nine.json("next", "nine", "-n", "9")["slots"][8]["key"]
        (item,) = nine.json("why", "nine", key)["occurrences"]
        assert (item["key"], item["slot"]) == (key, "2026-12-08T09:00:00+00:00")
        assert nine.error("why", "nine", "f" * 32, status=3)["code"] == "not_found"


def test_what_stands_in_the_way_of_a_slot_to_come(nine: TestHome) -> None:
    with at("2026-11-30T08:00"):
        nine.json("move", "nine", "next", "--to", "2026-11-30T17:30")
        assert story(nine, "nine", "2026-11-30T09:00")[1:3] == ["moved to 17:30 by ann at 08:00", "due 17:30"]
        nine.json("skip", "nine", "2026-12-01T09:00")
        assert story(nine, "nine", "2026-12-01T09:00")[-2:] == ["due 09:00", "it will be skipped"]
        nine.json("pause", "nine", "--reason", "holidays")
        paused = story(nine, "nine", "2026-12-24T09:00")
        assert paused[-1] == "ann paused the job at 2026-11-30 08:00:00Z (holidays), so it will be skipped"
        nine.json("resume", "nine")
        nine.json("edit", "nine", "--disable")
        assert story(nine, "nine", "2026-12-24T09:00")[-1] == "its file says enabled: false, so it will be skipped"


def test_a_slot_behind_the_last_of_repeat(home: TestHome) -> None:
    with at("2026-11-30T08:00"):
        add(home, "--repeat", "3")
        assert "it gets a row" in " ".join(story(home, "nine", "2026-12-02T09:00"))
        behind = story(home, "nine", "2026-12-03T09:00")
        assert "it will not run, since the job runs 3 times and others come first" in behind


def test_what_the_clock_does_to_a_slot_is_told(home: TestHome) -> None:
    with at("2027-03-20T08:00"):
        home.json("add", "every day at 02:30", "--script", "hi.sh", "--name", "Night", "--timezone", "Europe/Paris")
        told = story(home, "night", "2027-03-28T03:30")
        assert "runs at 03:30 on 28 March: the clock skips 02:30" in told
        home.json("edit", "night", "--clock-change", "gap=skip")
        refused = home.error("why", "night", "2027-03-28T03:30", status=3)
        assert "the clock skips 02:30" in refused["message"]


def test_what_is_no_slot_says_why_and_what_is_near(nine: TestHome) -> None:
    with at("2026-11-30T08:00"):
        refused = nine.error("why", "nine", "2026-12-01T10:00", status=3)
        assert refused["hint"] == "the nearest are 2026-12-01T09:00:00+00:00 or 2026-12-02T09:00:00+00:00"
        refused = nine.error("why", "nine", "2026-11-20T09:00", status=3)
        assert "no record of a slot" in refused["message"]
        assert refused["hint"] == "it exists since 2026-11-29 20:00:00Z"
        nine.json("edit", "nine", "--schedule", "0 10 * * *")
        refused = nine.error("why", "nine", "2026-11-29T22:00", status=3)
        assert "no slot" in refused["message"]
    with at("2026-12-01T12:00"):
        nine.json("edit", "nine", "--schedule", "0 8 * * *")
        refused = nine.error("why", "nine", "2026-11-30T08:00", status=3)
        assert "it has had this schedule since 2026-12-01 12:00:00Z" in refused["hint"]


def test_a_paused_job_and_one_that_was_running_say_so(nine: TestHome) -> None:
    with at("2026-11-30T08:55"):
        nine.json("pause", "nine", "--reason", "holidays")
    gateway = PlayedGateway(nine, "2026-11-30T08:59", "g2")
    assert gateway.work("2026-11-30T09:00") == []
    with at("2026-11-30T15:00"):
        told = story(nine, "nine", "2026-11-30T09:00")
        assert told[-1].startswith("skipped at 09:00: paused by ann since 2026-11-30 08:55:00Z: holidays")
        assert not [line for line in told if "gateway" in line], "one was running"


def test_the_machine_slept(home: TestHome) -> None:
    with at("2026-11-29T20:00"):
        add(home)
        gateway = PlayedGateway(home, "2026-11-29T20:00")
    gateway.clock.time = gateway.clock.time.replace(day=30, hour=14, minute=0)
    gateway.store.transact(
        lambda tx: tx.journal.append("clock_changed", actor="gateway", stepped_s=0.0, slept_s=6 * 3600.0)
    )
    gateway.work("2026-11-30T14:00:02")
    with at("2026-11-30T15:00"):
        assert "the machine slept 08:00–14:00" in story(home, "nine", "2026-11-30T09:00")


def test_a_run_by_hand_and_its_failure(nine: TestHome) -> None:
    with at("2026-11-30T08:55"):
        nine.json("run", "nine")
    PlayedGateway(nine, "2026-11-30T08:56", "g2").work("2026-11-30T08:56", "fail", reason="exit status 3")
    with at("2026-11-30T08:57"):
        (told,) = [item["story"] for item in nine.json("why", "nine")["occurrences"] if item["trigger"] == "manual"]
        assert told[0] == "ordered by ann at 08:55"
        assert "failed 08:56: exit status 3" in " ".join(told)
        assert not [line for line in told if "catch-up" in line], "no slot was caught up with"


def test_the_words_of_a_story_do_not_draw_on_the_terminal(home: TestHome) -> None:
    with at("2026-11-30T08:00"):
        add(home)
        home.json("pause", "nine", "--reason", "a\x1b[2Jb")
        assert "\x1b" not in home.horae("why", "nine", "2026-12-24T09:00").out


def test_of_a_removed_job_everything_on_record_is_told(nine: TestHome) -> None:
    PlayedGateway(nine, "2026-11-30T14:00", "g2").work("2026-11-30T14:00:01")
    with at("2026-11-30T15:00"):
        job_id = nine.jobs()["nine"]["id"]
        nine.json("remove", "nine")
        for name in ("nine", "Nine", job_id):
            assert story(nine, name, "2026-11-30T09:00")[-2:] == [
                "completed 14:00:01: exit status 0",
                "delivered to local",
            ]
        assert "nine was removed at 2026-11-30 15:00:00Z; this is on record:" in nine.horae("why", "nine").out
        assert nine.json("why", "nine")["job"]["removed_at"] == "2026-11-30 15:00:00Z"
        (run,) = nine.json("runs", "nine")["runs"]
        assert nine.json("log", "nine")["run"]["id"] == run["id"]
        assert story(nine, "nine", "2026-12-24T09:00")[-1] == "it will not run, since the job was removed"
        nine.json("show", "nine", status=3)
        add(nine, schedule="0 10 * * *")
        assert nine.json("why", "nine")["job"]["removed_at"] is None, "one that is there is meant first"
        nine.json("remove", "nine")
        nine.json("why", "nine", status=3)
        assert "removed), " in nine.horae("why", "nine", status=3).err


def test_P1_slots_that_had_their_turn_by_a_clock_that_was_ahead_are_named(nine: TestHome) -> None:
    PlayedGateway(nine, "2026-12-03T14:00", "g2").work("2026-12-03T14:00:01")  # and then the clock is set back

    def told(moment: str) -> list[tuple[str, str]]:
        with at(moment):
            checks = nine.json("doctor", status=1)["checks"]
        return [(item["what"], item["remedy"]) for item in checks if item["check"] == "clock"]

    (found,) = told("2026-11-30T09:30")
    says = "3 slots up to 2026-12-03T09:00:00Z had their turn and will not run again"
    assert found == (
        f"nine: the clock was ahead then, or is behind now: {says}",
        "`horae why nine` shows them; what must not wait is run by hand: `horae run nine`",
    )
    assert told("2026-12-03T14:01") == []
    assert told("2026-12-03T13:00") == [], "all of its slots have come"


def test_what_an_undo_wrote_is_told_in_words(nine: TestHome) -> None:
    with at("2026-11-30T08:55"):
        entry = nine.json("skip", "nine", "2026-12-24T09:00")["entry"]
        nine.json("undo")
        said = nine.horae("why", "nine", "2026-12-24T09:00").out
    assert "ann: what was decided about it was taken back" in said
    assert f"ann: entry {entry} was taken back" in said
    assert "only `horae undo" in said
    assert "redo" not in said
