"""`audit` and `prune`, as people and programs use them."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
from pathlib import Path

import pytest

from horae.core.chain import entry_hash
from tests.support.later import PlayedGateway, at
from tests.support.process import TestHome, new_home

VERIFIED = {"ok", "entries", "unchained", "chains", "findings", "keys", "export"}
INSERT = "INSERT INTO journal (seq, at, actor, what, detail, chain, number)"
CHAIN = {"chain", "entries", "first", "last", "from", "to", "pruned", "pruned_at", "head", "ok"}
FINDING = {"what", "chain", "number", "entry", "at", "text"}


@pytest.fixture
def kept(home: TestHome) -> TestHome:
    home.json("add", "every day at 09:00", "--script", "hi.sh", "--name", "Kept")
    home.json("skip", "kept")
    home.json("undo")
    return home


def exported(home: TestHome, name: str = "e.json", *words: str) -> Path:
    path = home.path / name
    home.json("audit", "export", "--output", str(path), *words)
    return path


# ── verify


def test_a_journal_that_is_as_it_was_written(kept: TestHome) -> None:
    answer = kept.json("audit", "verify")
    assert set(answer) == VERIFIED
    (chain,) = answer["chains"]
    assert set(chain) == CHAIN
    assert answer["ok"] is chain["ok"] is True
    assert answer["entries"] == chain["entries"] == chain["last"] == len(kept.sql("SELECT * FROM journal"))
    assert (answer["findings"], answer["keys"], answer["export"]) == ([], [], None)
    said = kept.horae("audit", "verify").out
    assert "chain home: " in said
    assert "every entry is as it was written" in said
    assert not (kept.path / "state" / "audit.key").exists(), "looking makes no key"


def test_verify_writes_nothing(kept: TestHome) -> None:
    kept.write("new", schedule="every 2h", script="hi.sh")  # an edit that nobody has taken in yet
    before = kept.sql("SELECT * FROM journal")
    kept.json("audit", "verify")
    assert kept.sql("SELECT * FROM journal") == before


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        ("UPDATE journal SET actor = 'somebody' WHERE seq = 3", "changed"),
        ("UPDATE journal SET undoable = 1 WHERE undoable = 0 AND seq = 2", "changed"),
        ("DELETE FROM journal WHERE seq = 3", "gap"),
        ("DELETE FROM journal WHERE seq = (SELECT max(seq) FROM journal)", "cut"),
        ("DELETE FROM journal_chain", "head_missing"),
        ("UPDATE journal_chain SET number = number - 1", "head_behind"),
        ("UPDATE journal_chain SET hash = 'x'", "head_differs"),
        ("INSERT INTO journal (seq, at, actor, what, detail) VALUES (999, 1, 'ann', 'resolved', '{}')", "unchained"),
        ("INSERT INTO journal_marker VALUES ('home', 1, 'x', 1, 1, 'ed25519:x', 'x')", "marker"),
        ("INSERT INTO journal_chain VALUES ('gone', 3, 'x')", "cut"),
        (f"{INSERT} VALUES (999, 1, 'ann', 'resolved', '{{}}', 'home', 0)", "unchained"),
        (f"{INSERT} VALUES (999, 1, 'ann', 'resolved', '{{}}', 'home', -7)", "unchained"),
        ("UPDATE journal SET at = 9223372036854775807 WHERE seq = 3", "changed"),
        ("UPDATE journal SET at = -9223372036854775807 WHERE seq = 1", "changed"),
        (
            "UPDATE journal SET what = 'anchor', detail = replace(hex(zeroblob(50000)), '0', '[') WHERE seq = 3",
            "changed",
        ),
        ("INSERT INTO journal_marker VALUES ('home', 9, 'x', 9, 9223372036854775807, 'ed25519:x', 'x')", "marker"),
    ],
)
def test_what_was_tampered_with_is_found(kept: TestHome, damage: str, what: str) -> None:
    kept.sql_write(damage)
    answer = kept.json("audit", "verify", status=1)
    assert answer["ok"] is False
    assert [found["what"] for found in answer["findings"]] == [what]
    assert set(answer["findings"][0]) == FINDING
    said = kept.horae("audit", "verify", status=1).out
    assert f"{what}: " in said
    assert "1 thing is not as it was written" in said


def test_a_finding_names_the_entry_by_its_number_its_place_and_its_time(kept: TestHome) -> None:
    kept.sql_write("UPDATE journal SET detail = '{}' WHERE seq = 3")
    (found,) = kept.json("audit", "verify", status=1)["findings"]
    assert (found["entry"], found["number"], found["chain"]) == (3, 3, "home")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", found["at"])


@pytest.mark.parametrize("column", ["detail", "actor", "what", "hash", "job_id"])
@pytest.mark.parametrize("seq", [2, 3, "(SELECT max(seq) FROM journal)"])
def test_an_entry_that_is_no_text_is_named(kept: TestHome, column: str, seq: int | str) -> None:
    kept.sql_write(f"UPDATE journal SET {column} = CAST(x'7bff7d' AS TEXT) WHERE seq = {seq}")
    ((number,),) = kept.sql(f"SELECT seq FROM journal WHERE seq = {seq}")
    answer = kept.json("audit", "verify", status=1)
    assert [(found["what"], found["entry"]) for found in answer["findings"]] == [("changed", number)]
    kept.horae("audit", "verify", status=1)
    path = exported(kept)
    checked = kept.json("audit", "verify", "--export", str(path), status=1)
    assert [(found["what"], found["entry"]) for found in checked["findings"]] == [("changed", number)]


def test_bytes_are_not_taken_for_the_text_that_they_are_shown_as(kept: TestHome) -> None:
    kept.json("add", "every 1h", "--script", "hi.sh", "--name", "a\\xffb")
    ((seq,),) = kept.sql("SELECT max(seq) FROM journal WHERE instr(detail, 'xffb')")
    damaged = "CAST(replace(detail, '\\\\xffb', CAST(x'ff62' AS TEXT)) AS TEXT)"
    kept.sql_write(f"UPDATE journal SET detail = {damaged} WHERE seq = {seq}")
    assert [found["entry"] for found in kept.json("audit", "verify", status=1)["findings"]] == [seq]


def test_an_entry_in_the_place_of_one_that_was_pruned_is_found(home: TestHome) -> None:
    """It may follow its chain: what would contradict it is what came next, and that is gone."""
    old(home)
    with at("2026-11-30T12:00"):
        home.json("prune")
    assert home.sql("SELECT count(*) FROM journal WHERE number = 1") == [(0,)]
    assert home.json("audit", "verify")["ok"] is True
    forged = entry_hash("", "home", 1, 1, 1, "ann", "resolved", None, None, None, "{}")
    home.sql_write(f"{INSERT} VALUES (1, 1, 'ann', 'resolved', '{{}}', 'home', 1)")
    home.sql_write(f"UPDATE journal SET hash = '{forged}' WHERE seq = 1")
    (found,) = home.json("audit", "verify", status=1)["findings"]
    assert (found["what"], found["chain"], found["number"]) == ("marker", "home", 1)


def test_what_somebody_wrote_there_says_nothing_to_the_terminal(kept: TestHome) -> None:
    kept.sql_write("UPDATE journal SET chain = 'a' || char(27) || '[2J' || char(10) || 'fine' WHERE seq = 3")
    said = kept.horae("audit", "verify", status=1).out
    assert "\x1b" not in said
    assert "a\\x1b[2J fine" in said


def test_what_was_written_before_there_were_chains_is_no_fault(kept: TestHome) -> None:
    kept.sql_write("DELETE FROM journal_chain")
    kept.sql_write("UPDATE journal SET chain = '', number = 0, hash = NULL")
    kept.json("pause", "kept")
    answer = kept.json("audit", "verify")
    assert answer["ok"] is True
    assert answer["unchained"] > 0
    assert f"{answer['unchained']} entries from before the journal was chained" in kept.horae("audit", "verify").out
    whole = json.loads(exported(kept).read_text())
    assert [entry["number"] for entry in whole["entries"]].count(0) == answer["unchained"]
    assert kept.json("audit", "verify", "--export", str(kept.path / "e.json"))["unchained"] == answer["unchained"]


# ── export


def test_an_export_is_checked_anywhere(kept: TestHome, tmp_path: Path) -> None:
    path = exported(kept)
    answer = kept.json("audit", "verify", "--export", str(path))
    assert answer["ok"] is True
    assert answer["export"]["trusted"] is True
    assert answer["export"]["made_by"] == "ann"
    assert answer["entries"] == len(kept.sql("SELECT * FROM journal"))
    elsewhere = TestHome(tmp_path / "nowhere", inside=True)
    answer = elsewhere.json("audit", "verify", "--export", str(path))
    assert (answer["ok"], answer["export"]["trusted"]) == (True, None)
    key = kept.json("audit", "key")["key"]
    assert elsewhere.json("audit", "verify", "--export", str(path), "--key", key)["export"]["trusted"] is True
    assert "compare that key" in elsewhere.horae("audit", "verify", "--export", str(path)).err


def test_another_homes_export_is_not_trusted(kept: TestHome, tmp_path: Path) -> None:
    other = new_home(tmp_path / "other")
    other.inside = True
    other.json("audit", "key")
    answer = other.json("audit", "verify", "--export", str(exported(kept)), status=1)
    assert [found["what"] for found in answer["findings"]] == ["signature"]
    assert answer["export"]["trusted"] is False


def test_without_a_file_the_export_is_what_is_printed(kept: TestHome) -> None:
    for words in (("audit", "export"), ("--json", "audit", "export")):
        out = kept.horae(*words).out
        (kept.path / "out.json").write_text(out)
        assert json.loads(out)["horae"] == "journal export 1"
        assert kept.json("audit", "verify", "--export", str(kept.path / "out.json"))["ok"] is True


def test_a_part_says_that_it_is_one_and_can_be_checked(home: TestHome) -> None:
    home.json("add", "every day at 09:00", "--script", "hi.sh", "--name", "One")
    home.json("add", "every day at 10:00", "--script", "hi.sh", "--name", "Two")
    home.json("pause", "one")
    job = home.jobs()["one"]["id"]
    path = exported(home, "part.json", "--job", "one")
    whole = json.loads(path.read_text())
    entries = [item for item in whole["entries"] if "entry" in item]
    assert whole["partial"] is True
    assert whole["job"] == {"id": job, "slug": "one"}
    assert {entry["job_id"] for entry in entries} == {job}
    assert [item["left_out"]["chain"] for item in whole["entries"] if "left_out" in item] == ["home"]
    answer = home.json("audit", "verify", "--export", str(path))
    assert (answer["ok"], answer["export"]["partial"], answer["entries"]) == (True, True, len(entries))
    text = path.read_text().replace('"actor": "ann"', '"actor": "bob"', 1)
    path.write_text(text)
    found = home.json("audit", "verify", "--export", str(path), status=1)["findings"]
    assert [each["what"] for each in found] == ["changed", "signature"]


def test_from_and_to_are_a_half_open_stretch(home: TestHome) -> None:
    for day in ("2026-11-28", "2026-11-29", "2026-11-30"):
        with at(f"{day}T10:00"):
            home.json("add", "every day at 09:00", "--script", "hi.sh", "--name", f"On {day}")
    with at("2026-11-30T12:00"):
        path = exported(home, "part.json", "--from", "2026-11-29", "--to", "2026-11-30")
        whole = json.loads(path.read_text())
        assert home.json("audit", "verify", "--export", str(path))["ok"] is True
    times = {item["at"] // 86_400_000_000 for item in whole["entries"] if "entry" in item}
    assert len(times) == 1
    assert (whole["from"], whole["to"]) == ("2026-11-28T23:00:00Z", "2026-11-29T23:00:00Z"), "days of the home's zone"
    assert home.error("audit", "export", "--from", "2026-11-30", "--to", "2026-11-29", status=2)["code"] == "invalid"
    assert "--to" in home.error("audit", "export", "--to", "every 5m", status=2)["message"]


def test_the_journal_is_compared_with_an_earlier_export(kept: TestHome) -> None:
    """Whoever writes the whole chain anew cannot write the export anew."""
    path = exported(kept)
    kept.json("pause", "kept")
    assert kept.json("audit", "verify", "--against", str(path))["ok"] is True
    kept.sql_write("DELETE FROM journal")
    kept.sql_write("DELETE FROM journal_chain")
    kept.json("resume", "kept")
    assert kept.json("audit", "verify")["ok"] is True
    found = kept.json("audit", "verify", "--against", str(path), status=1)["findings"]
    assert [each["what"] for each in found] == ["anchor"]
    assert "the export of" in found[0]["text"]
    path.write_text(path.read_text().replace('"partial": false', '"partial": null'))
    found = kept.json("audit", "verify", "--against", str(path), status=1)["findings"]
    assert [each["what"] for each in found] == ["signature"]


# ── the key, and mistakes


def test_the_key_is_made_once(kept: TestHome) -> None:
    first, again = kept.json("audit", "key"), kept.json("audit", "key")
    assert set(first) == {"key", "file", "made"}
    assert (first["made"], again["made"]) == (True, False)
    assert first["key"] == again["key"] == kept.horae("audit", "key").out.strip()
    assert (kept.path / "state" / "audit.key").stat().st_mode & 0o777 == 0o600


def test_mistakes_are_named(kept: TestHome, tmp_path: Path) -> None:
    assert kept.error("audit", status=2)["code"] == "usage"
    assert kept.error("audit", "destroy", status=2)["code"] == "usage"
    assert "audit export" in kept.error("audit", "verify", "--job", "kept", status=2)["message"]
    assert "audit verify" in kept.error("audit", "export", "--key", "x", status=2)["message"]
    assert "not both" in kept.error("audit", "verify", "--export", "a", "--against", "b", status=2)["message"]
    assert kept.error("audit", "verify", "--export", "nowhere.json", status=3)["code"] == "not_found"
    assert kept.error("audit", "export", "--job", "nobody", status=3)["code"] == "not_found"
    assert "no public key" in kept.error("audit", "verify", "--key", "ed25519:AAAA", status=2)["message"]
    assert "no value" in kept.error("audit", "verify", "--export", "", status=2)["message"]
    path = tmp_path / "odd"
    for content in (b"", b"hello", b"\xff\xfe"):
        path.write_bytes(content)
        assert kept.error("audit", "verify", "--export", str(path), status=2)["code"] == "invalid"
    nowhere = TestHome(tmp_path / "nowhere", inside=True)
    assert nowhere.error("audit", "verify", status=3)["code"] == "not_found"
    assert nowhere.error("audit", "key", status=3)["code"] == "not_found"


@pytest.mark.parametrize("option", ["--export", "--against"])
def test_an_export_is_a_regular_file(kept: TestHome, tmp_path: Path, option: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in ("/dev/zero", str(tmp_path / "pipe"), str(tmp_path)):
        error = kept.error("audit", "verify", option, path, status=2)
        assert error["message"] == f"{path} is not a regular file"
        assert "write the export to a file" in error["hint"]


def test_what_is_longer_than_an_export_can_be_is_not_held_in_memory(
    kept: TestHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "zeros"
    with path.open("wb") as file:
        file.truncate(1 << 40)  # a file with a hole: it takes no room on the disk
    error = kept.error("audit", "verify", "--export", str(path), status=2)
    assert "line 1 has more than 16,777,216 characters" in error["message"]
    assert "no export of a journal" in error["hint"]
    monkeypatch.setattr("horae.core.export.EXPORT_WHOLE_CHARS_MAX", 1000)
    assert kept.json("audit", "verify", "--export", str(exported(kept)))["ok"] is True
    path.write_text("{}\n" * 1000, encoding="utf-8")
    error = kept.error("audit", "verify", "--export", str(path), status=2)
    assert "longer than 1,000 characters" in error["message"]


def test_P11_a_run_signs_nothing_and_prunes_nothing(kept: TestHome) -> None:
    for words in (("audit", "export"), ("audit", "key"), ("prune",)):
        assert kept.error(*words, status=4, HORAE_RUN_ID="abc")["code"] == "refused"
    assert kept.json("audit", "verify", HORAE_RUN_ID="abc")["ok"] is True


def test_a_file_that_cannot_be_written_leaves_nothing_behind(kept: TestHome, tmp_path: Path) -> None:
    kept.error("audit", "export", "--output", str(tmp_path / "no folder" / "e.json"), status=1)
    kept.error("audit", "export", "--job", "nobody", "--output", str(tmp_path / "e.json"), status=3)
    assert list(tmp_path.glob("e.json*")) == []


def test_nothing_but_a_file_is_replaced_by_an_export(kept: TestHome, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in (str(tmp_path / "pipe"), str(tmp_path), ""):
        assert kept.error("audit", "export", "--output", name, status=2)["code"] == "usage"
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


# ── prune


def old(home: TestHome) -> None:
    """A job that ran on three days, over a year ago; its slots until now were missed, and a gateway ran it today."""
    with at("2025-10-01T08:00"):
        home.json("add", "every day at 09:00", "--script", "hi.sh", "--name", "Kept", "--timezone", "UTC")
        gateway = PlayedGateway(home, "2025-10-01T08:00")
    for day in (1, 2, 3):
        gateway.work(f"2025-10-0{day}T09:00", message="news")
    gateway.die()
    PlayedGateway(home, "2026-11-30T09:30", "g2").work("2026-11-30T09:30", message="today's")


def test_prune_takes_away_what_is_too_old_and_says_what(home: TestHome) -> None:
    old(home)
    for run in [*(item["id"] for item in home.runs()), "0" * 20]:
        (home.path / "state" / "output" / run / "files").mkdir(parents=True)
        (home.path / "state" / "output" / run / "files" / "report").touch()
    with at("2026-11-30T12:00"):
        before = home.sql("SELECT * FROM journal")
        would = home.json("prune", "--dry-run")
        assert set(would) == {"dry_run", "pruned", "before", "more"}
        assert home.sql("SELECT * FROM journal") == before
        assert "would prune" in home.horae("prune", "--dry-run").out
        did = home.json("prune")
        assert did["pruned"] == would["pruned"]
        assert (did["pruned"]["output"], did["pruned"]["runs"]) == (3, 3)
        assert did["pruned"]["journal"] > 0
        (detail,) = home.sql("SELECT detail FROM journal WHERE what = 'pruned'")[0]
        assert json.loads(detail) == did["pruned"]
        kept = {path.name for path in (home.path / "state" / "output").iterdir()}
        assert kept == {home.runs()[0]["id"], "0" * 20}, "the newest run's files, and what belongs to no run"
        assert home.json("prune")["pruned"] == {"output": 0, "runs": 0, "journal": 0}
        answer = home.json("audit", "verify")
        assert answer["ok"] is True
        assert answer["chains"][0]["pruned"] == did["pruned"]["journal"]
        assert answer["chains"][0]["pruned_at"] == "2026-11-30T12:00:00Z"
        assert f"{did['pruned']['journal']} pruned, last at 2026-11-30T12:00:00Z" in home.horae("audit", "verify").out
        assert home.json("audit", "verify", "--export", str(exported(home)))["ok"] is True


def test_what_was_pruned_is_said_where_it_was(home: TestHome) -> None:
    old(home)
    with at("2026-11-30T12:00"):
        run = home.runs()[-1]["id"]
        assert home.json("log", run)["pruned"] is False
        home.json("prune")
        log = home.json("log", run)
        assert (log["message"], log["stdout"], log["pruned"]) == (None, None, True)
        assert (log["run"]["state"], log["run"]["outcome"], log["run"]["reason"]) == (
            "completed",
            "ran",
            "exit status 0",
        )
        assert "was pruned" in home.horae("log", run).out
        (slot,) = home.json("why", "kept", "2025-10-01T09:00")["occurrences"]
        assert (slot["outcome"], slot["reason"], slot["decisions"]) == ("ran", "exit status 0", [])
        assert slot["story"][-2:] == [
            "ran: exit status 0",
            "what was decided about it is not on record any more: it was pruned from the journal",
        ]
        assert "pruned from the journal" in home.horae("why", "kept", "2025-10-01T09:00").out


def test_a_marker_of_a_key_that_was_lost_is_found_and_may_be_trusted_by_hand(home: TestHome) -> None:
    old(home)
    with at("2026-11-30T12:00"):
        home.json("prune")
        key = home.json("audit", "key")["key"]
        (home.path / "state" / "audit.key").unlink()
        found = home.json("audit", "verify", status=1)["findings"]
        assert {each["what"] for each in found} == {"marker"}
        assert key in found[0]["text"]
        assert home.json("audit", "verify", "--key", key)["ok"] is True


def test_a_copied_home_verifies_by_its_own_key(home: TestHome, tmp_path: Path) -> None:
    old(home)
    with at("2026-11-30T12:00"):
        home.json("prune")
        shutil.copytree(home.path, tmp_path / "copy")
        assert TestHome(tmp_path / "copy", inside=True).json("audit", "verify")["ok"] is True
