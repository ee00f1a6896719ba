"""`targets`, its test message, and what `add`, `edit`, `check` and `doctor` say about targets."""

from __future__ import annotations

import pytest

from tests.support.process import TestHome

CONFIG = """
[platforms.notes]
kind = "file"
path = "notes.txt"
[platforms.pager]
kind = "command"
argv = ["no-such-program-here", "{chat}"]
[platforms.post]
kind = "mail"
host = "mail.example.org"
from = "horae@example.org"
[targets]
ops = ["notes", "local"]
"discord:#room" = "notes"
"""


@pytest.fixture
def told(home: TestHome) -> TestHome:
    home.config(CONFIG)
    home.script("mail.sh", "true")
    return home


def test_a_new_home_has_three_words(home: TestHome) -> None:
    answer = home.json("targets")
    assert [(row["name"], row["addresses"], row["ready"]) for row in answer["targets"]] == [
        ("local", ["local"], True),
        ("origin", ["local"], True),
        ("all", [], False),
    ]
    assert answer["closed"] == []
    assert "none has one" in answer["targets"][2]["problem"]


def test_the_list_says_what_each_means_and_whether_it_is_ready(told: TestHome) -> None:
    rows = {row["name"]: row for row in told.json("targets", "list")["targets"]}
    assert list(rows) == ["local", "origin", "all", "notes", "pager", "post", "ops", "discord:#room"]
    assert rows["notes"] == {
        "name": "notes", "what": "platform", "kind": "file", "stands_for": None, "addresses": ["notes"],
        "ready": True, "problem": None,
    }  # fmt: skip
    assert rows["ops"] == {
        "name": "ops", "what": "name", "kind": None, "stands_for": ["notes", "local"],
        "addresses": ["notes", "local"], "ready": True, "problem": None,
    }  # fmt: skip
    assert "no-such-program-here" in rows["pager"]["problem"]
    assert (rows["post"]["addresses"], rows["post"]["ready"]) == ([], True)
    text = told.horae("targets").out
    assert "discord:#room\tname\tnotes\tready\n" in text


def test_a_test_message_is_sent_from_here(told: TestHome) -> None:
    answer = told.json("targets", "test", "ops", "--message", "is this on?")
    assert (answer["ok"], answer["did"]) == (True, "sent a test message to 2 of 2 addresses")
    assert [(row["target"], row["address"], row["event"]) for row in answer["receipts"]] == [
        ("notes", "notes", "accept"),
        ("local", "local", "accept"),
    ]
    text = (told.path / "notes.txt").read_text(encoding="utf-8")
    assert "Horae test message" in text
    assert "is this on?" in text


def test_what_is_not_accepted_is_told_with_status_1(told: TestHome) -> None:
    said = told.horae("targets", "test", "pager", status=1).out
    assert "sent a test message to 0 of 1 address\n  pager  not sent: " in said
    assert "no-such-program-here" in said


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("targets", "test"), 2, "`targets test` needs a target"),
        (("targets", "list", "ops"), 2, "takes no name"),
        (("targets", "--message", "x"), 2, "--message goes with `targets test`"),
        (("targets", "test", "opps"), 2, "no such target: opps"),
        (("targets", "test", "post"), 2, "post has no home chat"),
        (("targets", "test", "local", "--message", "x" * 2001), 2, "at most 2000 characters"),
        (("targets", "open", "ops"), 3, "ops is not closed"),
        (("targets", "open", "opps"), 2, "no such target: opps"),
    ],
)
def test_mistakes(told: TestHome, words: tuple[str, ...], status: int, said: str) -> None:
    assert said in told.horae(*words, status=status).err


def test_it_is_not_for_runs(told: TestHome) -> None:
    for action in ("test", "open"):
        assert "is not for runs" in told.horae("targets", action, "local", status=4, HORAE_RUN_ID="x").err


def test_a_job_with_an_unknown_target_is_not_made(told: TestHome) -> None:
    add = ("add", "every hour", "--script", "mail.sh", "--name")
    assert (
        "target opps: no such target (did you mean ops?)" in told.horae(*add, "one", "--deliver", "opps", status=4).err
    )
    told.horae(*add, "one", "--deliver", "pager", status=4)
    told.horae(*add, "one", "--deliver", "discord:#room")
    assert "post has no home chat" in told.horae("edit", "one", "--deliver", "post", status=4).err


def test_several_are_given_with_commas_or_one_by_one(told: TestHome) -> None:
    told.horae(
        "add", "every hour", "--script", "mail.sh", "--name", "one", "--deliver", "local, ops", "--alerts", "ops,local"
    )
    assert "deliver: [local, ops]\nalerts: [ops, local]\n" in told.file("one").read_text()
    told.horae("edit", "one", "--deliver", "ops", "--deliver", "discord:#room,local")
    assert "deliver: [ops, discord:#room, local]\n" in told.file("one").read_text()
    assert "`deliver` has no value" in told.horae("edit", "one", "--deliver", "ops,", status=2).err


@pytest.mark.parametrize("key", ["deliver", "alerts"])
def test_one_that_was_written_by_hand_is_taken_in_and_told(told: TestHome, key: str) -> None:
    told.write("one", script="mail.sh", **{key: "[opps]"})
    words = "target opps" if key == "deliver" else "target of alerts opps"
    for command in (("check", "one"), ("check",), ("doctor",)):
        assert f"one: {words}: no such target (did you mean ops?)" in told.horae(*command, status=1).out
    assert list(told.jobs()) == ["one"]


def test_a_closed_address_is_told_and_opened(told: TestHome) -> None:
    told.look("list")
    told.sql_write("INSERT INTO closed_address VALUES ('notes', '410 Gone', 1767225600000000)")
    answer = told.json("targets")
    assert answer["closed"] == [{"address": "notes", "reason": "410 Gone", "closed_at": "2026-01-01T00:00:00Z"}]
    problems = {row["name"]: row["problem"] for row in answer["targets"]}
    assert "notes is closed since 2026-01-01T00:00:00Z: 410 Gone" in problems["ops"]
    assert problems["ops"] == problems["notes"]
    assert "opened notes: messages are sent there again" in told.horae("targets", "open", "ops").out
    assert told.json("targets")["closed"] == []
    told.sql_write("INSERT INTO closed_address VALUES ('gone:5', '410 Gone', 1767225600000000)")
    assert told.json("targets", "open", "gone:5")["opened"] == ["gone:5"]


def test_doctor_names_platforms_that_are_not_ready(told: TestHome) -> None:
    checks = told.json("doctor", status=1)["checks"]
    found = [item for item in checks if item["check"] == "targets"]
    assert len(found) == 1
    assert found[0]["what"].startswith("pager: ")
    assert found[0]["remedy"]
