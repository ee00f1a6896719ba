"""Every command's JSON against docs/reference/cli.md: no key is ever missing, instants have offsets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from horae.cli.main import COMMANDS
from tests.support.process import TestHome

INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?[+-]\d\d:\d\d")
UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
KEY = re.compile(r"[0-9a-f]{32}")
ID = re.compile(r"[0-9a-f]{12}")

SLOT = {"slot", "slot_utc", "key", "note"}
LISTED = {"id", "name", "state", "schedule", "meaning", "timezone", "completed_reason", "problem"}
LISTED |= {"next_slot", "last_outcome", "last_run_state", "last_slot"}
OCCURRENCE = {"key", "slot", "state", "outcome", "reason", "decisions"}


@pytest.fixture
def kept(home: TestHome) -> TestHome:
    home.json("add", "weekdays at 9am", "--script", "hi.sh", "--name", "Kept")
    return home


def walk(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """All (key, value) pairs of a document."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key, inner
            yield from walk(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from walk(inner, path)


def well_formed(document: Any) -> Any:
    """Names of fields and forms of values that hold everywhere."""
    for key, value in walk(document):
        assert re.fullmatch(r"[a-z0-9_\-.]+", key) or key == "@", key
        if value is None:
            continue
        if key in (
            "slot",
            "due",
            "next_slot",
            "last_slot",
            "claimed_at",
            "started_at",
            "finished_at",
            "at",
            "from",
            "to",
        ):
            assert INSTANT.fullmatch(value), (key, value)
        if key.endswith("_utc") or key == "next_due":
            assert UTC.fullmatch(value), (key, value)
        if key == "key":
            assert KEY.fullmatch(value), value
        if key.endswith("_s"):
            assert isinstance(value, int | float), (key, value)
    return document


def has(document: dict, *keys: str) -> None:
    """At least these keys."""
    assert set(keys) <= set(document), set(keys) - set(document)


def test_add_and_edit(home: TestHome) -> None:
    answer = well_formed(home.json("add", "weekdays at 9am", "--script", "hi.sh", "--name", "Kept"))
    has(answer, "job", "meaning", "slots", "warnings")
    assert ID.fullmatch(answer["job"]["id"])
    assert (answer["job"]["name"], answer["job"]["timezone"], answer["job"]["slug"]) == ("Kept", "Europe/Paris", "kept")
    assert answer["meaning"] == "at 09:00 on weekdays"
    assert len(answer["slots"]) == 3
    for slot in answer["slots"]:
        has(slot, *SLOT)
        assert "T09:00:00+0" in slot["slot"]
    edited = well_formed(home.json("edit", "kept", "--schedule", "every monday and thursday at 18:30"))
    has(edited, "job", "meaning", "slots", "warnings")
    assert edited["job"]["id"] == answer["job"]["id"]
    assert edited["meaning"] == "at 18:30 on Mondays and Thursdays"
    assert len(edited["slots"]) == 3
    said = home.horae("edit", "kept", "--timezone", "America/New_York").out
    assert "at 18:30 on Mondays and Thursdays (America/New_York)" in said
    assert len(re.findall(r"T18:30:00-0[45]:00", said)) == 3
    assert re.search(r"undo: horae undo \d+", said)


def test_list(kept: TestHome) -> None:
    answer = well_formed(kept.json("list"))
    assert set(answer) == {"jobs", "cursor"}
    has(answer["jobs"][0], *LISTED)
    assert answer["cursor"] is None
    assert answer["jobs"][0]["state"] == "active"
    assert [answer["jobs"][0][key] for key in ("last_outcome", "last_run_state", "completed_reason", "problem")] == [
        None
    ] * 4


def test_list_goes_page_by_page_and_by_state(kept: TestHome) -> None:
    for number in range(5):
        kept.json("add", "every 1h", "--script", "hi.sh", "--name", f"n{number}")
    kept.json("pause", "n3")
    assert [job["slug"] for job in kept.json("list", "--state", "paused")["jobs"]] == ["n3"]
    found: list[str] = []
    words: tuple[str, ...] = ("list", "--limit", "4")
    while True:
        page = kept.json(*words)
        found += [job["slug"] for job in page["jobs"]]
        if page["cursor"] is None:
            break
        words = ("list", "--limit", "4", "--cursor", page["cursor"])
    assert found == ["kept", "n0", "n1", "n2", "n3", "n4"]
    assert "more: horae list --cursor" in kept.horae("list", "--limit", "4").err
    more = kept.horae("list", "--limit", "2", "--all", "--state", "active").err.partition("more: horae ")[2]
    assert [job["slug"] for job in kept.json(*more.splitlines()[0].split())["jobs"]] == ["n1", "n2"]
    assert kept.horae("list", "--cursor", "zz").out == "no more jobs\n"
    assert kept.horae("list", "--state", "completed").out == "no jobs that are completed\n"
    for bad in ("0", "-1", "x", "10001"):
        assert kept.error("list", "--limit", bad, status=2)["code"] == "usage"
    assert kept.error("list", "--state", "odd", status=2)["code"] == "usage"


def test_show(kept: TestHome) -> None:
    answer = well_formed(kept.json("show", "kept"))
    has(answer, "job", "resolved", "state", "slots", "file")
    has(answer["resolved"], "model", "tools", "targets", "limits")
    assert answer["file"] == "jobs/kept.md"
    assert answer["resolved"]["targets"] == ["local"]
    assert len(answer["slots"]) == 5
    prompt = "\n".join(f"line {number}" for number in range(30))
    kept.json("edit", "kept", "--prompt", prompt)
    assert (
        kept.json("show", "kept")["job"]["prompt"] == kept.json("show", "kept", "--prompt")["job"]["prompt"] == prompt
    )
    assert "line 29" not in kept.horae("show", "kept").out
    assert "--prompt" in kept.horae("show", "kept").out
    assert prompt in kept.horae("show", "kept", "--prompt").out


def test_next(kept: TestHome) -> None:
    words = ("--schedule", "0 9 * * *", "--timezone", "Europe/Paris", "--from", "2026-10-24T12:00", "-n", "3")
    answer = well_formed(kept.json("next", *words))
    has(answer, "schedule", "meaning", "timezone", "tzdata", "slots")
    assert (answer["schedule"], answer["timezone"]) == ("0 9 * * *", "Europe/Paris")
    assert re.fullmatch(r"20\d\d[a-z]", answer["tzdata"])
    assert [slot["slot"] for slot in answer["slots"]] == [
        "2026-10-25T09:00:00+01:00", "2026-10-26T09:00:00+01:00", "2026-10-27T09:00:00+01:00",
    ]  # fmt: skip
    assert answer["slots"][1]["slot_utc"] == "2026-10-26T08:00:00Z"
    assert answer["slots"][0]["key"] is None
    of_job = well_formed(kept.json("next", "kept", "-n", "2"))
    has(of_job, "schedule", "meaning", "timezone", "tzdata", "slots")
    assert all(slot["key"] for slot in of_job["slots"])
    of_all = well_formed(kept.json("next"))
    has(of_all, "schedule", "meaning", "timezone", "tzdata", "slots")
    assert of_all["slots"][0]["job"] == "kept"
    day = kept.json("next", "--schedule", "every day at 9am", "--from", "2026-10-20", "-n", "1")
    assert day["slots"][0]["slot"] == "2026-10-20T09:00:00+02:00"
    rule = kept.json(
        "next", "--schedule", "RRULE:FREQ=DAILY;INTERVAL=2", "--from", "2026-10-20T07:00", "-n", "2", status=None
    )
    assert "slots" in rule or rule["error"]["code"] == "invalid"  # rules come later; until then they are refused
    for bad in ("0", "-1", "x", "1001"):
        assert kept.horae("--json", "next", "-n", bad, status=2).error["code"] in ("usage", "invalid")
    assert kept.error("next", "kept", "--schedule", "every 1h", status=2)["code"] == "usage"


def test_runs_log_and_why_without_any_run(kept: TestHome) -> None:
    assert kept.json("runs") == {"runs": [], "cursor": None}
    assert kept.error("log", "abc", status=3)["code"] == "not_found"
    answer = well_formed(kept.json("why", "kept"))
    assert set(answer) == {"job", "occurrences"}
    has(answer["occurrences"][0], *OCCURRENCE)
    has(answer["occurrences"][0]["decisions"][0], "at", "actor", "what", "detail")
    assert kept.json("why", "kept", "next")["occurrences"][0]["key"] == answer["occurrences"][0]["key"]
    assert kept.json("why", "kept", answer["occurrences"][0]["key"])["occurrences"] == answer["occurrences"]
    slot = kept.json("next", "kept")["slots"][4]
    ahead = well_formed(kept.json("why", "kept", slot["slot"]))["occurrences"][0]
    assert (ahead["key"], ahead["outcome"]) == (slot["key"], None)
    assert kept.error("why", "kept", "2026-11-28T09:00", status=3)["code"] == "not_found"
    assert kept.error("why", "kept", "gibberish", status=2)["code"] == "invalid"


def test_switches_and_exceptions(kept: TestHome) -> None:
    for words in (
        ("pause", "kept", "--reason", "why not"),
        ("resume", "kept"),
        ("skip", "kept"),
        ("move", "kept", "next", "--to", "in 2h"),
    ):
        answer = well_formed(kept.json(*words))
        has(answer, "did", "undo")
        assert answer["undo"].startswith("horae ")
    assert kept.json("pause", "--all")["jobs"][0]["changed"] is True
    assert kept.json("pause", "--all")["jobs"] == []
    assert kept.json("list")["jobs"][0]["state"] == "paused"
    assert kept.json("resume", "--all")["jobs"][0]["slug"] == "kept"
    notes = [slot["note"] for slot in kept.json("next", "kept")["slots"]]
    assert sorted(note for note in notes if note) == ["moved", "skipped"]
    moved = next(slot for slot in kept.json("next", "kept")["slots"] if slot["note"] == "moved")
    assert moved["due"] != moved["slot"]
    assert moved["key"] in [item["key"] for item in kept.json("why", "kept")["occurrences"]]
    assert kept.error("move", "kept", "next", "--to", "2020-01-01T00:00", status=2)["code"] == "invalid"
    assert kept.error("move", "kept", "next", "--to", "every 5m", status=2)["code"] == "invalid"
    assert kept.error("skip", "kept", "2026-11-28T09:00", status=3)["code"] == "not_found"
    assert kept.error("pause", status=2)["code"] == "usage"
    assert kept.error("pause", "kept", "--all", status=2)["code"] == "usage"


def test_remove(kept: TestHome) -> None:
    answer = well_formed(kept.json("remove", "kept"))
    has(answer, "job", "did", "undo")
    assert not kept.file("kept").exists()
    assert kept.error("show", "kept", status=3)["code"] == "not_found"


def test_the_house(kept: TestHome) -> None:
    assert kept.error("status", status=5)["code"] == "unavailable"
    has(kept.json("version"), "version", "python", "tzdata", "system")
    assert kept.horae("--version").out.startswith("horae 0.")
    has(kept.json("doctor", status=1), "ok", "checks")
    assert kept.json("check") == {"ok": True, "checks": kept.json("check")["checks"]}
    assert set(kept.json("init")) == {"home", "made", "did"}
    assert kept.json("init")["made"] == []
    assert set(kept.json()["commands"]) == set(COMMANDS)
    for shell in ("bash", "zsh", "fish"):
        assert kept.json("completions", shell)["shell"] == shell
    assert kept.error("completions", "powershell", status=2)["code"] == "usage"


def test_json_may_stand_before_or_behind(kept: TestHome) -> None:
    for words in (("list",), ("show", "kept"), ("version",)):
        assert kept.horae("--json", *words).json == kept.horae(*words, "--json").json
    before, behind = kept.horae("--json", "show", "nobody", status=3), kept.horae("show", "nobody", "--json", status=3)
    assert before.error == behind.error
    home = str(kept.path)
    assert kept.horae("--home", home, "list", "--json", HORAE_HOME="/nowhere").json == kept.json("list")
    assert kept.horae("list", "--home", home, "--json", HORAE_HOME="/nowhere").json == kept.json("list")
    assert kept.horae(f"--home={home}", "list", "--json", HORAE_HOME="/nowhere").json == kept.json("list")


@pytest.mark.parametrize("how", ["name", "prefix"])
def test_what_could_mean_several_is_listed(home: TestHome, how: str) -> None:
    ids = [home.json("add", "every 1h", "--script", "hi.sh", "--name", "Twin")["job"]["id"] for _ in range(2)]
    if how == "prefix":
        for number, job_id in enumerate(ids):
            home.file(("twin", "twin-2")[number]).write_text(
                home.file(("twin", "twin-2")[number]).read_text().replace(job_id, f"abcdef{number}00000")
            )
        ids = ["abcdef000000", "abcdef100000"]
    word = "Twin" if how == "name" else "abcdef"
    for words in (("show", word), ("remove", word), ("run", word), ("pause", word), ("edit", word, "--name", "X")):
        error = home.error(*words, status=3)
        assert error["code"] == "ambiguous"
        assert sorted(item["id"] for item in error["details"]["candidates"]) == sorted(ids)
        assert all(job_id in error["message"] for job_id in ids)
    assert home.json("show", ids[0])["job"]["id"] == ids[0]
    assert home.json("show", ids[0][:7])["job"]["id"] == ids[0]
    assert home.json("show", "twin-2")["job"]["slug"] == "twin-2"


def test_errors_name_what_is_there(kept: TestHome) -> None:
    error = kept.error("show", "kep", status=3)
    assert error["code"] == "not_found"
    assert "kept" in str(error["hint"]) + str(error["details"])
    assert "did you mean status?" in kept.error("stats", status=2)["hint"]
    assert "list" in kept.error("lsit", status=2)["hint"]
    assert kept.error("list", "--bogus", status=2)["code"] == "usage"
    assert kept.error("--bogus", "list", status=2)["code"] == "usage"
    assert kept.error("add", status=2)["code"] == "usage"


def test_a_completed_job_makes_way_for_a_live_one_of_its_name(home: TestHome) -> None:
    home.json("add", "in 1h", "--script", "hi.sh", "--name", "Once")
    home.sql_write("UPDATE job SET completed_at = 1, completed_reason = 'it was to run once' WHERE slug = 'once'")
    assert home.json("list")["jobs"] == []
    assert home.json("list", "--all")["jobs"][0]["completed_reason"] == "it was to run once"
    for words in (("pause", "once"), ("run", "once"), ("resume", "once"), ("skip", "once")):
        assert home.error(*words, status=4)["code"] == "refused"
    new = home.json("add", "every 1h", "--script", "hi.sh", "--name", "Once")["job"]
    assert home.json("show", "Once")["job"]["id"] == new["id"]
    answer = home.json("edit", "once", "--schedule", "in 2h")
    assert "revived" in str(answer["warnings"])
    assert [job["state"] for job in home.json("list")["jobs"]] == ["active", "active"]
