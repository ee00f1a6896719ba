"""`config.toml`: what it may say, what each mistake is called, and that every key is optional."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from horae.core.agentform import TABLES as OF_AGENTS
from horae.core.deliveryform import TABLES
from horae.core.retention import Retention
from horae.core.watchform import Telemetry, Watched
from horae.core.webform import Web
from horae.errors import Invalid, Trouble
from horae.limits import CALENDAR_BYTES_MAX, DRAIN_S, PARALLEL_DEFAULT
from horae.settings import KEYS, host_timezone, load
from horae.store.newhome import make_home


def home(tmp_path: Path, text: str) -> str:
    (tmp_path / "config.toml").write_text(text, encoding="utf-8")
    return str(tmp_path)


def test_without_a_file_everything_has_a_default(tmp_path: Path) -> None:
    found = load(str(tmp_path), {"TZ": "Europe/Paris"})
    assert (found.timezone, found.parallel, found.commands, found.pass_env, found.drain_s) == (
        "Europe/Paris", PARALLEL_DEFAULT, (), (), DRAIN_S,
    )  # fmt: skip


def test_every_key_is_read(tmp_path: Path) -> None:
    text = 'timezone = "Asia/Tokyo"\nparallel = 3\ncommands = ["true"]\npass_env = ["A"]\ndrain = "1m 30s"\n'
    text += 'store = "postgresql://anna:secret@db.example/horae"\nlabels = ["gpu", "eu", "gpu"]\n'
    text += 'retention = {output = "7d", journal = "forever"}\non_stop = "end"\nlandlock = "off"\n'
    text += 'web = {serve = "off", host = "::1", port = 0, hosts = ["Horae.example.org"]}\n'
    text += 'keyring = "on"\n[groups]\ngpu = 2\n[calendars.nights]\nhours = ["22:00-07:00"]\n'
    text += '[hooks.ci]\nkind = "github"\nsecret = "CI_SECRET"\njobs = ["deploy"]\n[metrics]\njobs = 5\n'
    text += '[telemetry]\notlp = "http://127.0.0.1:4318"\n[log]\nformat = "json"\n'
    others = (*TABLES, *OF_AGENTS)  # test_settings_delivery.py, test_settings_agents.py
    assert all(key in text for key in KEYS if key not in others)
    found = load(home(tmp_path, text), {})
    assert found.hooks["ci"].jobs == ("deploy",)
    assert found.watched == Watched(5, Telemetry("http://127.0.0.1:4318"), "json")
    assert (found.timezone, found.parallel, found.commands, found.pass_env, found.drain_s) == (
        "Asia/Tokyo", 3, ("true",), ("A",), 90.0,
    )  # fmt: skip
    assert (found.store, found.labels, found.groups) == (
        "postgresql://anna:secret@db.example/horae", ("eu", "gpu"), {"gpu": 2},
    )  # fmt: skip
    assert (found.on_stop, found.landlock) == ("end", False)
    assert found.web == Web(serve=False, host="::1", port=0, hosts=("horae.example.org",))
    kept = found.retention
    assert (kept.output, kept.runs, kept.journal) == (7 * 86_400, Retention().runs, None)
    assert found.calendars["nights"].reason(datetime(2026, 3, 2, 14, tzinfo=UTC), "Asia/Tokyo") == "22:00-07:00"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("parallel = 1001", "from 1 to 1000"),
        ("parallel = 1.5", "a whole number"),
        ("parallel = false", "a whole number"),
        ('pass_env = ["A", 1]', "a list of names"),
        ("timezone = 1", "an IANA zone"),
        ('drain = ""', "drain"),
        ('drain = "-5s"', "drain"),
        ('on_stop = "wait"', "on_stop must be leave or end, not 'wait'"),
        ("landlock = false", "landlock must be on or off, not False"),
        ("paralel = 4", "unknown key paralel"),
        ("= 4", "Invalid"),
        ('labels = ["GPU"]', "labels: 'GPU' is not a name"),
        ("labels = [1]", "a list of names"),
        ("groups = 3", "a table of numbers"),
        ("retention = 3", "a table of durations"),
        ('retention = {output = "5m"}', "retention.output must be a duration of at least a day"),
        ('retention = {outputs = "5d"}', "unknown key retention.outputs"),
        ("[groups]\ngpu = 0", "groups.gpu must be a whole number from 1 to 1000, not 0"),
        ("[groups]\ngpu = true", "groups.gpu must be a whole number"),
        ("[groups]\nGPU = 1", "groups.GPU: 'GPU' is not a name"),
        ("calendars = []", "a table of exclusion calendars"),
        ("[calendars]\nnights = 1", "calendars.nights: must be a table"),
        ('[calendars.nights]\nhours = ["22-7"]', "calendars.nights.hours: cannot read '22-7'"),
        ('[calendars."Quiet Days"]\nhours = ["22-7"]', "'Quiet Days' is not a name"),
        ('[calendars.h]\nfile = "/etc/passwd"', "calendars.h.file: '/etc/passwd' is not below the home"),
        ('[calendars.h]\nfile = "../x.ics"', "calendars.h.file: '../x.ics' is not below the home"),
        ('timezone = ""', "timezone: "),
        ("a = " + "[" * 50_000, "nested too deeply"),
        ('[calendars.h]\nfile = "a\\u0000b"', "is not below the home"),
    ],
)
def test_a_mistake_names_file_key_and_what_was_expected(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(Invalid) as caught:
        load(home(tmp_path, text), {})
    assert caught.value.message.startswith(f"{tmp_path}/config.toml: ")
    assert said in caught.value.message
    assert caught.value.details["file"] == f"{tmp_path}/config.toml"


def test_a_config_that_cannot_be_read_is_the_machines_trouble(tmp_path: Path) -> None:
    (tmp_path / "config.toml").mkdir()
    with pytest.raises(Trouble, match=r"config\.toml cannot be read"):
        load(str(tmp_path), {})


def test_the_machines_zone_is_the_first_that_is_one() -> None:
    assert host_timezone({"HORAE_TIMEZONE": "Asia/Tokyo", "TZ": "Europe/Paris"}) == "Asia/Tokyo"
    assert host_timezone({"TZ": ":Europe/Paris"}) == "Europe/Paris"
    assert host_timezone({"HORAE_TIMEZONE": "nonsense", "TZ": "Europe/Paris"}) == "Europe/Paris"
    assert host_timezone({})


def test_the_config_of_a_new_home_says_every_key_and_changes_nothing(tmp_path: Path) -> None:
    made = make_home(str(tmp_path / "home"), example=True)
    assert "config.toml" in made
    text = (tmp_path / "home" / "config.toml").read_text(encoding="utf-8")
    assert all(f"{key} = " in text for key in KEYS)
    bare = tmp_path / "bare"
    bare.mkdir()
    shown, plain = load(str(tmp_path / "home"), {}), load(str(bare), {})
    assert (shown.parallel, shown.commands, shown.pass_env, shown.drain_s) == (
        plain.parallel,
        plain.commands,
        plain.pass_env,
        plain.drain_s,
    )
    assert (shown.on_stop, shown.landlock) == (plain.on_stop, plain.landlock) == ("leave", True)
    assert make_home(str(tmp_path / "home"), example=True) == []


def test_what_exists_in_a_home_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "home"
    make_home(str(path), example=True)
    (path / "jobs" / "heartbeat.md").write_text("mine")
    (path / "scripts" / "watchdog.sh").unlink()
    assert make_home(str(path), example=True) == ["scripts/watchdog.sh"]
    assert (path / "jobs" / "heartbeat.md").read_text() == "mine"


# ── the store


@pytest.mark.parametrize("url", ["postgresql://db/horae", "postgres://anna:pw@db.example:5432/horae?sslmode=require"])
def test_the_store_is_a_url(tmp_path: Path, url: str) -> None:
    assert load(home(tmp_path, f'store = "{url}"'), {}).store == url
    assert load(home(tmp_path, ""), {"HORAE_STORE": url}).store == url
    assert load(home(tmp_path, 'store = "postgresql://db/other"'), {"HORAE_STORE": url}).store == url
    assert load(home(tmp_path, ""), {"HORAE_STORE": ""}).store is None


@pytest.mark.parametrize("url", ["mysql://a:hunter2@db/x", "sqlite:///hunter2.db", "hunter2", "postgresql://hunter2"])
def test_another_store_is_refused_and_not_shown(tmp_path: Path, url: str) -> None:
    for text, env, source in (
        (f'store = "{url}"', {}, "config.toml: store must"),
        ("", {"HORAE_STORE": url}, "HORAE_STORE must"),
    ):
        with pytest.raises(Invalid) as caught:
            load(home(tmp_path, text), env)
        assert source in caught.value.message
        assert "hunter2" not in repr(caught.value.as_json()), "it may hold a password"
        assert "state/runtime.db" in str(caught.value.hint)
    with pytest.raises(Invalid, match="store must be the URL"):
        load(home(tmp_path, 'store = ["hunter2"]'), {})


# ── calendars from files


def test_an_icalendar_file_lies_below_the_home(tmp_path: Path) -> None:
    (tmp_path / "calendars").mkdir()
    event = "BEGIN:VEVENT\nSUMMARY:New Year\nDTSTART;VALUE=DATE:20270101\nEND:VEVENT\n"
    (tmp_path / "calendars" / "h.ics").write_text(f"BEGIN:VCALENDAR\n{event}END:VCALENDAR\n")
    found = load(home(tmp_path, '[calendars.holidays]\nfile = "calendars/h.ics"\ndates = ["12-25"]'), {}).calendars
    assert found["holidays"].reason(datetime(2027, 1, 1, 12, tzinfo=UTC), "UTC") == "New Year"
    assert found["holidays"].reason(datetime(2027, 12, 25, 12, tzinfo=UTC), "UTC") == "12-25"
    outside = tmp_path.parent / f"{tmp_path.name}.ics"
    outside.write_text("BEGIN:VCALENDAR\nEND:VCALENDAR\n")
    (tmp_path / "link.ics").symlink_to(outside)
    with pytest.raises(Invalid, match="is not below the home"):
        load(home(tmp_path, '[calendars.h]\nfile = "link.ics"'), {})


@pytest.mark.parametrize(
    ("file", "says", "remedy"),
    [
        ("none.ics", "none.ics cannot be read: No such file", "check its name"),
        ("pipe.ics", "pipe.ics is not a file", "iCalendar file"),
        ("latin.ics", "latin.ics is not UTF-8", "UTF-8"),
        ("large.ics", "large.ics has more than", "long past"),
        ("config.toml", "config.toml: it is no iCalendar file", "export the calendar again"),
        ("zone.ics", "zone.ics: its event 'Gala': unknown time zone 'Gotham'", None),
        ("twice.ics", "twice.ics: its event 'Gala' cannot be understood", "please report"),
    ],
)
def test_P9_a_calendar_whose_file_cannot_be_read_harms_only_itself(
    tmp_path: Path, file: str, says: str, remedy: str | None
) -> None:
    os.mkfifo(tmp_path / "pipe.ics")
    (tmp_path / "latin.ics").write_bytes(b"BEGIN:VCALENDAR\xe4")
    (tmp_path / "large.ics").write_bytes(b" " * (CALENDAR_BYTES_MAX + 1))
    start = "DTSTART;VALUE=DATE:20270101\n"
    for name, event in (("zone", "DTSTART;TZID=Gotham:20270101T000000\n"), ("twice", start + "DURATION:P1D\n" * 2)):
        whole = f"BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Gala\n{event}END:VEVENT\nEND:VCALENDAR\n"
        (tmp_path / f"{name}.ics").write_text(whole)
    text = f'[calendars.h]\nfile = "{file}"\ndates = ["12-25"]\n[calendars.nights]\nhours = ["22:00-07:00"]\n'
    found = load(home(tmp_path, text), {}).calendars
    assert str(found["h"].unread).startswith(says)
    assert remedy is None or remedy in str(found["h"].remedy)
    assert found["h"].reason(datetime(2027, 12, 25, 12, tzinfo=UTC), "UTC") == "12-25", "config.toml says so by itself"
    assert found["nights"].unread is None


def test_its_reader_is_loaded_only_for_such_a_file(tmp_path: Path) -> None:
    code = "import sys; from horae.settings import load; load(sys.argv[1], {}); print('icalendar' in sys.modules)"
    for text, loaded in (('[calendars.h]\ndates = ["12-25"]', "False"), ('[calendars.h]\nfile = "h.ics"', "True")):
        (tmp_path / "h.ics").write_text("BEGIN:VCALENDAR\nEND:VCALENDAR\n")
        ran = subprocess.run(
            [sys.executable, "-c", code, home(tmp_path, text)], capture_output=True, text=True, check=True
        )
        assert ran.stdout.strip() == loaded
