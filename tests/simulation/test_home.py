"""A home with job files: they are taken in, run, and never written to by running (P8)."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

from horae.app.reload import reload
from horae.core.preflight import Facts
from horae.ports import Home, Machine, Settings
from horae.store.auditkey import AuditKey
from horae.store.database import connect
from horae.store.jobfolder import JobFolder
from horae.store.journalreader import JournalReader
from horae.store.queries import open_reader
from horae.store.scriptfolder import ScriptFolder
from horae.store.skillfolder import SkillFolder
from horae.store.vault import SecretVault
from horae.wiring.handed import handed
from tests.simulation.test_promises import life
from tests.support.builders import MINUTE, SECOND, START
from tests.support.outside import Post
from tests.support.world import World

FILE = """---
id: 0c1d2e3f4a5b
name: Harbour tides   # a person's comment
schedule: "{schedule}"
timezone: Europe/Paris
agent: false
script: tides.sh
deliver: [local]
repeat: 3
---
"""


def home_of(world: World) -> Home:
    jobs = Path(world.folder, "jobs")
    jobs.mkdir(exist_ok=True)
    return Home(
        settings=Settings(world.folder),
        store=world.outside,
        folder=JobFolder(str(jobs)),
        scripts=ScriptFolder(os.path.join(world.folder, "scripts")),
        source=partial(handed, world.folder),
        clock=world.clock,
        actor="person",
        read=lambda: open_reader(world.file),  # pyright: ignore[reportArgumentType]
        past=lambda: JournalReader(connect(world.file, 5.0)),
        key=lambda: AuditKey(os.path.join(world.folder, "audit.key")),
        shelf=lambda: SkillFolder(os.path.join(world.folder, "skills")),
        vault=lambda: SecretVault(Settings(world.folder)),
        configure=lambda _place, _value: None,
        entropy=os.urandom,
        targets=Post({}),
        probe=lambda _job: (),
        ask_left=lambda _run: False,
        machine=lambda: Machine(0, scoped=False, scopes="", secrets=None),
        facts=lambda job: Facts(("x",), "/"),
        wake=world.wake,
        gateway=True,
    )


def put(world: World, slug: str, text: str) -> Path:
    path = Path(world.folder, "jobs", f"{slug}.md")
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def test_P8_O1_running_changes_no_job_file() -> None:
    async def story(world: World) -> None:
        path = put(world, "tides", FILE.format(schedule="* * * * *"))
        bad = put(world, "bad", "---\nschedule: when it suits\n---\n")
        report = reload(home_of(world))
        assert (report.created, list(report.broken)) == (["tides"], ["bad"])
        before = [(file.read_bytes(), file.stat().st_mtime_ns, file.stat().st_ino) for file in (path, bad)]
        world.start()
        await world.pass_time(5 * MINUTE)
        world.outside.transact(lambda tx: tx.jobs.pause("0c1d2e3f4a5b", actor="person", reason=None))
        world.outside.transact(lambda tx: tx.jobs.resume("0c1d2e3f4a5b", actor="person"))
        assert [(file.read_bytes(), file.stat().st_mtime_ns, file.stat().st_ino) for file in (path, bad)] == before
        assert sorted(os.listdir(path.parent)) == ["bad.md", "tides.md"]
        assert len(world.effects) == 3

    life(story)


def test_S2_a_record_holds_definition_state_and_what_comes_next() -> None:
    async def story(world: World) -> None:
        put(world, "tides", FILE.format(schedule="*/2 * * * *"))
        reload(home_of(world))
        world.start()
        await world.pass_time(2 * MINUTE + 5 * SECOND)
        reader: Any = open_reader(world.file)
        job = reader.job("0c1d2e3f4a5b")
        reader.close()
        (row,) = world.rows("SELECT * FROM job")
        assert (job["name"], job["schedule"], job["timezone"], job["state"]) == (
            "Harbour tides", "*/2 * * * *", "Europe/Paris", "active",
        )  # fmt: skip
        assert (job["last_slot"], job["last_outcome"], job["last_run_state"]) == (
            "2026-03-02T09:02:00+01:00",
            "ran",
            "completed",
        )
        assert job["next_slot_utc"] == "2026-03-02T08:04:00Z"
        assert (row["repeat_max"], row["counted"]) == (3, 1)
        assert '"script": "tides.sh"' in row["definition"]

    life(story)


def test_S2_an_edit_of_a_file_takes_effect_while_the_gateway_runs() -> None:
    async def story(world: World) -> None:
        home = home_of(world)
        put(world, "tides", FILE.format(schedule="0 12 * * *"))
        reload(home)
        world.start()
        await world.pass_time(30 * SECOND)
        put(world, "tides", FILE.format(schedule="* * * * *"))
        reload(home, ["tides"])
        await world.pass_time(40 * SECOND)
        assert [effect.at for effect in world.effects] == [START + MINUTE]

    life(story)


def test_S5_whatever_triggers_a_run_the_way_is_the_same() -> None:
    async def story(world: World) -> None:
        put(world, "tides", FILE.format(schedule="* * * * *"))
        reload(home_of(world))
        world.start()
        await world.pass_time(30 * SECOND)
        world.outside.transact(lambda tx: tx.jobs.order_run("0c1d2e3f4a5b", run_id="f" * 16, actor="person", input="x"))
        world.wake()
        await world.pass_time(40 * SECOND)
        runs = world.rows(
            "SELECT r.*, o.trigger, o.outcome FROM run r JOIN occurrence o ON o.key = r.key ORDER BY r.claimed_at"
        )
        assert [(run["trigger"], run["state"], run["outcome"]) for run in runs] == [
            ("manual", "completed", "ran"),
            ("schedule", "completed", "ran"),
        ]
        ways = [
            [
                row["what"]
                for row in world.rows(
                    "SELECT what FROM journal WHERE run_id = ? AND what <> 'ordered' ORDER BY seq", run["id"]
                )
            ]
            for run in runs
        ]
        assert ways[0] == ways[1] == ["claimed", "started", "completed"]
        assert {row["state"] for row in world.rows("SELECT state FROM delivery")} == {"delivered"}

    life(story)
