"""What is stored of one job is damaged, or it never was valid: whoever looks is told so, and sees everything else."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest

from horae.errors import Unavailable
from horae.wiring import House
from tests.support.process import TestHome

DAMAGES = ("{}", "no JSON", "[]", '{"id": 7}')


@pytest.fixture
def kept(home: TestHome) -> TestHome:
    for name in ("Good", "Tides"):
        home.json("add", "every day at 04:00", "--script", "hi.sh", "--name", name)
    return home


def bad(answer: dict[str, Any]) -> list[dict[str, Any]]:
    return [item for item in answer["checks"] if not item["ok"]]


def test_a_job_whose_file_was_never_valid_is_shown(home: TestHome) -> None:
    home.file("odd").write_text("---\nschedule: sometimes\n---\n")
    shown = home.json("show", "odd")
    assert (shown["job"]["slug"], shown["job"]["schedule"], shown["slots"]) == ("odd", None, [])
    said = home.horae("show", "odd").out
    assert "quarantined (jobs/odd.md" in said
    assert "no slots ahead" in said
    (found,) = bad(home.json("check", "odd", status=1))
    assert (found["check"], found["what"][:5]) == ("quarantined", "odd: ")


@pytest.mark.parametrize("text", DAMAGES)
def test_P9_a_damaged_definition_is_one_finding_and_harms_no_other_check(kept: TestHome, text: str) -> None:
    healthy = [item["check"] for item in kept.json("doctor", status=1)["checks"]]
    kept.sql_write(f"UPDATE job SET definition = '{text}' WHERE slug = 'tides'")
    for words in (("check",), ("check", "tides"), ("doctor",)):
        answer = kept.json(*words, status=1)
        (found,) = [item for item in bad(answer) if item["check"] != "gateway"]
        assert found["check"] == "jobs"
        assert found["what"].startswith("tides: ")
        assert "reading its file again mends it" in found["what"]
        assert "save jobs/tides.md again" in found["remedy"]
        assert "horae edit tides" in found["remedy"]
    assert [item["check"] for item in kept.json("doctor", status=1)["checks"]] == healthy
    assert kept.json("check", "good")["ok"]
    said = kept.horae("show", "tides").out
    assert "name          Tides" in said
    assert "schedule      every day at 04:00" in said
    assert "reading its file again mends it" in said
    (warning,) = kept.json("next", "tides")["warnings"]
    assert warning == f"tides: {found['what'].removeprefix('tides: ')}"
    for words in (("run", "tides", "--dry"), ("skip", "tides")):
        assert "reading its file again mends it" in kept.error(*words, status=4)["message"]
    kept.json("edit", "tides", "--name", "Tides again")
    assert kept.json("check")["ok"]


@pytest.mark.parametrize("text", DAMAGES)
def test_P9_saving_its_file_mends_a_damaged_definition(kept: TestHome, text: str) -> None:
    kept.sql_write(f"UPDATE job SET definition = '{text}' WHERE slug = 'tides'")
    written = kept.file("tides").read_text()
    kept.file("tides").unlink()
    kept.file("tides").write_text(written)
    assert kept.json("check")["ok"]


@pytest.mark.parametrize("problem", ["[1]", "no JSON"])
def test_a_damaged_note_about_a_broken_file_breaks_no_check(kept: TestHome, problem: str) -> None:
    kept.sql_write(f"UPDATE job SET problem = '{problem}' WHERE slug = 'tides'")
    for words in (("check",), ("check", "tides"), ("doctor",)):
        (found,) = [item for item in bad(kept.json(*words, status=1)) if item["check"] != "gateway"]
        assert (found["check"], found["what"]) == ("quarantined", f"tides: {problem}")


def test_where_the_store_cannot_be_reached_nobody_knows_whether_a_gateway_runs(home: TestHome) -> None:
    away = Unavailable("postgresql://host/db cannot be reached", "start it")
    with mock.patch.object(House, "gateway", side_effect=away):
        found = {item["check"]: item for item in home.json("doctor", status=1)["checks"]}
    assert found["home"]["what"] == away.message
    assert found["gateway"]["what"] == (
        "nobody can know whether a gateway is running, since the store cannot be reached"
    )
    assert not found["gateway"]["ok"]
