"""What people do wrong. Each time: the message, the exit status, the JSON error, and that nothing was lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.process import TestHome

SCRIPT = ("--script", "hi.sh")


@pytest.fixture
def kept(home: TestHome) -> TestHome:
    """A home with a job that must come through everything unharmed."""
    home.json("add", "every day at 04:00", *SCRIPT, "--name", "Kept")
    return home


def refused(home: TestHome, *words: str, status: int, code: str) -> dict:
    """The refusal of a command that must change nothing: neither a file, nor a job, nor the plan."""
    before = (
        home.digests(),
        home.sql("SELECT id, slug, definition, problem FROM job"),
        home.sql("SELECT key FROM occurrence"),
    )
    error = home.error(*words, status=status)
    after = (
        home.digests(),
        home.sql("SELECT id, slug, definition, problem FROM job"),
        home.sql("SELECT key FROM occurrence"),
    )
    assert before == after
    assert error["code"] == code
    plain = home.horae(*words, status=status)
    assert plain.out == ""
    assert plain.err.startswith(f"error: {error['message'].splitlines()[0]}")
    return error


# ── schedules


@pytest.mark.parametrize(
    ("schedule", "message", "hint"),
    [
        ("61 * * * *", "minute '61' is out of range", None),
        ("0 0 31 2 *", "never fires", None),
        ("* * * * * *", "six", "every 30 seconds"),
        ("0 30 9 * * 1", "a cron line has five fields", "30 9 * * 1"),
        ("30m", "products disagree", "`in 30m` or `every 30m`"),
        ("every 0m", "too short", None),
        ("2020-01-01T00:00", "is in the past", "in 10m"),
        ("DTSTART:20200101T000000Z RRULE:FREQ=MINUTELY;COUNT=2", "has ended", "let it end later"),
        ("sometimes", "cannot read the schedule", None),
        ("", "schedule", None),
    ],
)
@pytest.mark.parametrize("verb", ["add", "edit", "next"])
def test_a_schedule_that_cannot_be(kept: TestHome, verb: str, schedule: str, message: str, hint: str | None) -> None:
    words = {
        "add": ("add", schedule, *SCRIPT),
        "edit": ("edit", "kept", "--schedule", schedule),
        "next": ("next", "--schedule", schedule),
    }[verb]
    if verb == "next" and message in {"is in the past", "has ended"}:
        assert home_slots(kept, schedule) == []  # a preview of what was: nothing is ahead, and that is no error
        return
    error = refused(kept, *words, status=2, code="invalid")
    assert message in error["message"]
    assert hint is None or hint in error["hint"]


def home_slots(home: TestHome, schedule: str) -> list:
    return home.json("next", "--schedule", schedule)["slots"]


def test_a_schedule_that_reads_other_than_it_fires_is_taken_with_a_warning(kept: TestHome) -> None:
    answer = kept.json("add", "*/90 * * * *", *SCRIPT)
    assert [text for text in answer["warnings"] if "hourly" in text and "every 90 minutes" in text]
    assert answer["meaning"] == "every hour at minute 0"
    assert "every 90 minutes" in kept.horae("next", "--schedule", "*/90 * * * *").err


@pytest.mark.parametrize(
    "text", ["9999-12-31T23:59:59Z", "9998-01-01T00:00", "0001-01-01T00:00", "0001-01-01T00:00+14:00"]
)
def test_an_instant_at_the_end_of_the_calendar(kept: TestHome, text: str) -> None:
    for words in (("add", text, *SCRIPT), ("move", "kept", "next", "--to", text), ("next", "--schedule", text)):
        assert "outside of the calendar" in refused(kept, *words, status=2, code="invalid")["message"]
    refused(kept, "next", "kept", "--from", text, status=2, code="invalid")
    assert "too far" in refused(kept, "next", "kept", "--from", "9950-01-01", status=2, code="invalid")["message"]


@pytest.mark.parametrize(
    ("text", "says", "hint"),
    [
        ("", "has no value", "`in 2h`"),
        ("7" * 5000, "is not one instant", "`in 2h`"),
        ("0", "products disagree", "`in 2h`"),
        ("-1", "cannot read the instant '-1'", "in 30m"),
    ],
)
def test_what_is_no_instant_is_not_told_of_schedules(kept: TestHome, text: str, says: str, hint: str) -> None:
    for words in (("skip", "kept", text), ("move", "kept", "next", "--to", text), ("why", "kept", text)):
        error = refused(kept, *words, status=2, code="invalid")
        assert says in error["message"]
        assert hint in error["hint"]
        assert "schedule" not in error["message"] + error["hint"]
        assert len(error["message"]) < 300


def test_what_is_far_too_long_is_not_repeated_in_full(kept: TestHome) -> None:
    long = "x" * 20_000
    for words, status in (
        (("add", "every 1h", *SCRIPT, "--deliver", long), 2),
        (("add", "every 1h", "--script", long), 4),
        (("add", "every 1h", "--command", long), 4),
        (("show", long), 3),
        (("next", "kept", "--from", long), 2),
        (("runs", "--limit", "7" * 5000), 2),
    ):
        said = kept.horae(*words, status=status).err
        assert len(said) < 3000, words
        assert "name` is longer" not in said, "nobody gave it that name"


@pytest.mark.parametrize("script", ["../hi.sh", "/etc/passwd"])
def test_what_is_wrong_with_a_new_job_is_not_told_of_a_file_that_nobody_has(kept: TestHome, script: str) -> None:
    for words in (
        ("every 1h", "--script", script),
        ("2020-01-01T00:00", *SCRIPT),
        ("every 1h", *SCRIPT, "--name=a\x1bb"),
    ):
        assert ".md" not in str(refused(kept, "add", *words, status=2, code="invalid"))


@pytest.mark.parametrize(("zone", "near"), [("Europe/Pariss", "Europe/Paris"), ("Mars/Olympus", None)])
def test_an_unknown_zone_names_the_nearest(kept: TestHome, zone: str, near: str | None) -> None:
    for words in (("add", "every 1h", *SCRIPT), ("edit", "kept"), ("next", "--schedule", "every 1h")):
        error = refused(kept, *words, "--timezone", zone, status=2, code="invalid")
        assert f"unknown time zone '{zone}'" in error["message"]
        assert near is None or near in error["hint"]


# ── scripts and programs


def test_a_script_outside_its_folder_is_refused(kept: TestHome, tmp_path: Path) -> None:
    (tmp_path / "evil.sh").write_text("echo evil\n")
    (kept.path / "scripts" / "link.sh").symlink_to(tmp_path / "evil.sh")
    (kept.path / "scripts" / "out").symlink_to(tmp_path)
    for name in ("../evil.sh", "sub/../../evil.sh", str(tmp_path / "evil.sh")):
        error = refused(kept, "add", "every 1h", "--script", name, status=2, code="invalid")
        assert "scripts/" in error["message"], error
    for name in ("link.sh", "out/evil.sh"):
        error = refused(kept, "add", "every 1h", "--script", name, status=4, code="refused")
        assert "leads outside" in error["message"]


def test_a_script_that_is_not_there_or_no_file(kept: TestHome) -> None:
    error = refused(kept, "add", "every 1h", "--script", "none.sh", status=4, code="refused")
    assert "none.sh does not exist" in error["message"]
    (kept.path / "scripts" / "folder.sh").mkdir()
    error = refused(kept, "add", "every 1h", "--script", "folder.sh", status=4, code="refused")
    assert "is not a file" in error["message"]
    (kept.path / "scripts" / "plain").write_text("echo\n")
    error = refused(kept, "add", "every 1h", "--script", "plain", status=4, code="refused")
    assert "#!" in error["message"]


def test_a_program_that_is_not_allowed(kept: TestHome) -> None:
    error = refused(kept, "add", "every 1h", "--command", "curl example.org", status=4, code="refused")
    assert "not on the list of allowed commands" in error["message"]
    assert 'commands = ["curl"]' in error["message"]
    error = refused(kept, "add", "every 1h", "--command", "sh -c 'unclosed", status=2, code="usage")
    assert "--command" in error["message"]


# ── names and prompts


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a\x1b[2Jb", "control"),
        ("a\tb", "one line"),
        ("a\nb", "one line"),
        ("a\u202eb", "invisible"),
        ("n" * 10_000, "longer than 200"),
        ("", "name"),
    ],
)
def test_a_name_that_would_draw_or_drown(kept: TestHome, name: str, said: str) -> None:
    for words in (("add", "every 1h", *SCRIPT), ("edit", "kept")):
        error = refused(kept, *words, f"--name={name}", status=2, code="invalid")
        assert said in error["message"]
        assert "\x1b" not in kept.horae(*words, f"--name={name}", status=2).err


def test_bytes_that_are_no_text(kept: TestHome) -> None:
    for words in (("show", "\udcff"), ("log", "\udcff"), ("why", "kept", "\udcff"), ("runs", "\udcff"), ("\udcff",)):
        refused(kept, *words, status=2, code="usage")
    for option in ("--name", "--prompt", "--schedule", "--timezone", "--env", "--deliver", "--workdir"):
        refused(kept, "edit", "kept", f"{option}=a\udcffb", status=2, code="usage")


@pytest.mark.parametrize(
    "name", ["--help", "-x", "; rm -rf /", "🎉", "$(reboot)", "../../etc", "日本語のジョブ", "con.md", "."]
)
def test_odd_names_are_only_names(kept: TestHome, name: str) -> None:
    answer = kept.json("add", "every 1h", *SCRIPT, f"--name={name}")
    slug = answer["job"]["slug"]
    assert kept.file(slug).is_file()
    assert kept.json("show", "--", slug)["job"]["name"] == " ".join(name.split())
    assert kept.json("show", "--", answer["job"]["name"])["job"]["id"] == answer["job"]["id"]
    assert kept.json("remove", "--", answer["job"]["name"])["job"]["slug"] == slug
    assert sorted(kept.digests()) == ["kept.md"]


def test_a_prompt_is_kept_as_it_is_or_refused(kept: TestHome) -> None:
    text = "Zeile eins\n\n---\n# über – “quotes” 🎉\n" * 300
    kept.json("edit", "kept", "--prompt", text)
    assert kept.json("show", "kept")["job"]["prompt"].strip() == text.strip()
    error = refused(kept, "edit", "kept", "--prompt", "x" * 300_000, status=2, code="invalid")
    assert "larger than 256 KiB" in error["message"]


# ── files


def test_the_nearest_known_key_is_named(kept: TestHome) -> None:
    kept.file("key").write_text("---\nschedule: every 1h\nagent: false\nscirpt: hi.sh\n---\n")
    assert "`script`" in kept.jobs()["key"]["problem"]["hint"]
    error = refused(kept, "edit", "kept", "--unset", "scirpt", status=2, code="invalid")
    assert "script" in error["details"]["expected"]


# ── the config


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("timezone = ", "config.toml", "TOML"),
        ('timezon = "UTC"\n', "unknown key timezon", "did you mean timezone?"),
        ('parallel = "4"\n', "parallel must be a whole number", None),
        ("parallel = 0\n", "parallel must be", None),
        ("parallel = true\n", "parallel must be", None),
        ('timezone = "Nowhere/Else"\n', "unknown time zone", None),
        ('drain = "soon"\n', "drain", None),
        ("drain = 60\n", "drain must be a duration", None),
        ('commands = "true"\n', "commands must be a list", None),
        ("commands = [1]\n", "commands must be a list", None),
        ("[gateway]\nport = 1\n", "unknown key gateway", None),
    ],
)
def test_a_wrong_config_is_named_with_its_key(kept: TestHome, text: str, said: str, hint: str | None) -> None:
    kept.config(text)
    for words in (("edit", "kept", "--name", "Other"), ("add", "every 1h", *SCRIPT)):
        error = refused(kept, *words, status=2, code="invalid")
        assert said in error["message"]
        assert "config.toml" in error["message"]
        assert error["details"]["file"] == str(kept.path / "config.toml")
        assert hint is None or hint in error["hint"]
    assert "config.toml" in str(kept.json("doctor", status=1))
    assert kept.jobs()["kept"]["state"] == "active"


def test_a_config_that_is_no_text(kept: TestHome) -> None:
    (kept.path / "config.toml").write_bytes(b"\xff\xfe\x00")
    refused(kept, "pause", "kept", status=2, code="invalid")
    (kept.path / "config.toml").unlink()
    (kept.path / "config.toml").mkdir()
    refused(kept, "pause", "kept", status=1, code="trouble")


# ── homes


def test_a_folder_that_is_no_home_is_not_made_one(tmp_path: Path) -> None:
    home = TestHome(tmp_path / "typo")
    for words in (
        ("list",),
        ("status",),
        ("doctor",),
        ("add", "every 1h", *SCRIPT),
        ("run", "x"),
        ("undo",),
        ("runs",),
    ):
        error = home.error(*words, status=3)
        assert error["code"] == "not_found"
        assert "no home at" in error["message"]
        assert "init" in error["hint"]
    assert not home.path.exists()
    (tmp_path / "typo").write_text("a file")
    assert home.error("init", status=1)["code"] == "trouble"
    assert home.horae("next", "--schedule", "every 1h", status=None).status in (0, 3)


def test_a_jobs_folder_that_is_not_a_folder_or_is_gone_removes_nothing(kept: TestHome) -> None:
    kept.write("fast", schedule="every 1s", script="hi.sh")
    kept.json("list")
    (kept.path / "jobs").rename(kept.path / "elsewhere")
    assert kept.error("list", status=3)["code"] == "not_found"
    (kept.path / "elsewhere").rename(kept.path / "jobs")
    assert {"kept", "fast"} <= set(kept.jobs())
