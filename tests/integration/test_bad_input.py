"""What people do wrong while a gateway runs: the message, and that nothing was lost. More of it: tests/unit/cli."""

from __future__ import annotations

import pytest

from tests.support.process import TestHome, running, until, without_id

SCRIPT = ("--script", "hi.sh")


@pytest.fixture
def kept(home: TestHome) -> TestHome:
    """A home with a job that must come through everything unharmed."""
    home.json("add", "every day at 04:00", *SCRIPT, "--name", "Kept")
    return home


def test_a_script_that_vanishes_or_cannot_be_read_blocks_its_run_only(kept: TestHome) -> None:
    kept.script("brief.sh", "echo brief\n")
    kept.json("add", "every 1h", "--script", "brief.sh", "--name", "Brief")
    (kept.path / "scripts" / "brief.sh").unlink()
    (kept.path / "scripts" / "brief.sh").symlink_to("brief.sh")  # unreadable for root too
    with running(kept):
        run = kept.ended(kept.json("run", "brief")["run_id"])
        assert (run["state"], run["outcome"]) == ("blocked", "blocked")
        assert "brief.sh" in run["reason"]
        assert [item["state"] for item in run["deliveries"]] == ["delivered"]
        assert "blocked before it started" in kept.json("log", run["id"])["message"]
        assert kept.json("run", "kept", "--wait")["run"]["state"] == "completed"
        assert "brief" in str([item for item in kept.json("check", status=1)["checks"] if not item["ok"]])


BROKEN = {
    "yaml": ("---\nschedule: [every\n---\n", "is not closed", 2),
    "tab": ("---\nschedule: every 1h\n\tagent: false\n---\n", "YAML", 3),
    "key": ("---\nschedule: every 1h\nagent: false\nscirpt: hi.sh\n---\n", "there is no key `scirpt`", 4),
    "zone": (
        "---\nschedule: every 1h\ntimezone: Europe/Pari\nagent: false\nscript: hi.sh\n---\n",
        "unknown time zone",
        3,
    ),
    "cron": ("---\nschedule: 61 * * * *\nagent: false\nscript: hi.sh\n---\n", "minute '61'", 2),
    "never": ("---\nschedule: 0 0 31 2 *\nagent: false\nscript: hi.sh\n---\n", "never fires", 2),
    "six": ("---\nschedule: '* * * * * *'\nagent: false\nscript: hi.sh\n---\n", "six", 2),
    "bare": ("---\nschedule: 30m\nagent: false\nscript: hi.sh\n---\n", "products disagree", 2),
    "zero": ("---\nschedule: every 0m\nagent: false\nscript: hi.sh\n---\n", "too short", 2),
    "past": ("---\nschedule: 2020-01-01T00:00:00Z\nagent: false\nscript: hi.sh\n---\n", "in the past", None),
    "outside": ("---\nschedule: every 1h\nagent: false\nscript: ../hi.sh\n---\n", "scripts/", 4),
    "nothing": ("", "no front matter", 1),
    "binary": (b"\xff\xfe---\n", "UTF-8", 1),
    "huge": ("---\nschedule: every 1h\n---\n" + "x" * 300_000, "larger than", None),
    "truth": ("---\nschedule: every 1h\nagent: 'false'\nscript: hi.sh\n---\n", "`agent`", 3),
    "escape": ('---\nschedule: every 1h\nname: "a\\e[2Jb"\nagent: false\nscript: hi.sh\n---\n', "`name`", 3),
}


def test_every_broken_file_is_quarantined_with_its_reason_and_the_others_go_on(kept: TestHome) -> None:
    """P9 from outside: sixteen broken files, each named with file, line and reason; the good one fires."""
    for slug, (text, _, _) in BROKEN.items():
        kept.file(slug).write_bytes(text if isinstance(text, bytes) else text.encode())
    kept.write("good", schedule="every 1s", script="hi.sh")
    given_an_id = ("good.md", "past.md")  # they could be read
    before = {name: digest for name, digest in kept.digests().items() if name not in given_an_id}
    with running(kept):
        jobs = kept.jobs()
        for slug, (_, said, line) in BROKEN.items():
            problem = jobs[slug]["problem"]
            assert jobs[slug]["state"] == "quarantined", slug
            assert said in problem["message"], problem
            assert f"{slug}.md" in problem["message"]
            assert problem["details"]["file"].endswith(f"{slug}.md")
            assert line is None or problem["details"]["line"] == line, (slug, problem)
        until(lambda: len(kept.runs("good")) >= 2, "the good job fires")
        told = str([item for item in kept.json("doctor", status=1)["checks"] if not item["ok"]])
        assert all(f"{slug}.md" in told for slug in BROKEN)
        listed = kept.horae("list").err
        assert all(f"{slug}.md" in listed for slug in BROKEN)
    assert {name: digest for name, digest in kept.digests().items() if name not in given_an_id} == before


@pytest.mark.parametrize("gateway", [False, True])
def test_two_files_with_one_id(kept: TestHome, gateway: bool) -> None:
    def look() -> None:
        kept.file("copy").write_bytes(kept.file("kept").read_bytes())
        kept.state_of("copy", "quarantined")
        jobs = kept.jobs()
        assert jobs["kept"]["state"] == "active"
        assert "is that of jobs/kept.md already" in jobs["copy"]["problem"]["message"]
        kept.file("copy").write_text(without_id(kept.file("kept").read_text()))
        kept.state_of("copy", "active")
        assert kept.jobs()["copy"]["id"] != jobs["kept"]["id"]
        assert kept.jobs()["kept"]["id"] == jobs["kept"]["id"]

    if not gateway:
        look()
        return
    with running(kept):
        look()


def test_a_one_shot_in_the_past_as_a_file_does_not_run(kept: TestHome) -> None:
    kept.write("past", schedule="2020-01-01T00:00:00Z", script="hi.sh")
    with running(kept):
        assert "in the past" in kept.jobs()["past"]["problem"]["message"]
        assert kept.runs("past") == []
        error = kept.error("run", "past", status=4)
        assert "file is broken" in error["message"]
