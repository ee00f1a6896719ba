"""The example of a cluster: its files can be read, and what its README shows is what happens (with plain processes)."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from horae.cli.main import COMMANDS, parser_for
from horae.core.jobfile import read
from horae.settings import KEYS, load
from tests.docs.console import Session, agree, steps
from tests.docs.test_pages import FENCE, LINK
from tests.support.shared import empty_database

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "cluster"
README = (EXAMPLE / "README.md").read_text(encoding="utf-8")
GATEWAYS = ("one", "two")


def compose() -> dict[str, Any]:
    return yaml.safe_load((EXAMPLE / "compose.yaml").read_text(encoding="utf-8"))


def test_its_jobs_are_valid_and_their_scripts_are_there() -> None:
    jobs = {
        path.stem: read(path.read_text(encoding="utf-8"), file=path.name, slug=path.stem)
        for path in (EXAMPLE / "jobs").iterdir()
    }
    assert set(jobs) == {"pulse", "index"}
    scripts = {path.name for path in (EXAMPLE / "scripts").iterdir()}
    assert {job.script for job in jobs.values()} == scripts
    offered = {label for name in GATEWAYS for label in load(str(EXAMPLE / name), {}).labels}
    assert {label for job in jobs.values() for label in job.runs_on} <= offered


@pytest.mark.parametrize("name", GATEWAYS)
def test_its_settings_are_valid(name: str) -> None:
    values = tomllib.loads((EXAMPLE / name / "config.toml").read_text(encoding="utf-8"))
    assert set(values) <= set(KEYS)
    assert load(str(EXAMPLE / name), {}).labels == tuple(values["labels"])


def test_its_containers_fit_together() -> None:
    services = compose()["services"]
    assert set(services) == {"db", *GATEWAYS}
    for name in GATEWAYS:
        one = services[name]
        env = one["environment"]
        assert env["HORAE_STORE"].startswith("postgresql://horae:${HORAE_DB_PASSWORD:?")
        assert env["HORAE_STORE"].endswith("@db/horae")
        assert "HORAE_HOST" not in env, "containers of one service must not pass for one machine"
        assert (ROOT / "examples" / "cluster" / one["build"]["context"]).resolve() == ROOT
        assert (ROOT / one["build"]["dockerfile"]).is_file()
        assert one["depends_on"]["db"]["condition"] == "service_healthy"
        assert int(one["stop_grace_period"].removesuffix("s")) > load(str(EXAMPLE / name), {}).drain_s
        for volume in one["volumes"]:
            source, target = volume.split(":")[:2]
            assert (EXAMPLE / source).exists(), source
            assert target in ("/example", f"{env['HORAE_HOME']}/config.toml")
    assert services["db"]["environment"]["POSTGRES_USER"] == services["db"]["environment"]["POSTGRES_DB"] == "horae"


def test_every_command_in_its_readme_exists() -> None:
    lines = [line.split(" #")[0] for block in FENCE.findall(README) for line in block.splitlines()]
    said = [re.sub(r"^\$ |\$\(|\)", "", line) for line in lines if "horae " in line]
    found = 0
    for line in said:
        for part in re.split(r"[;|&]|\buntil\b|docker compose exec one ", line):
            words = shlex.split(part.strip(), comments=True) if part.strip().startswith("horae ") else []
            words = words[3:] if words[1:2] == ["--home"] else words[1:]
            if words and words[0] in COMMANDS:
                module = __import__(f"horae.cli.{COMMANDS[words[0]][0]}", fromlist=["x"])
                parser_for(words[0], module).parse_args(words[1:])
                found += 1
    assert found > 15


def test_its_links_lead_somewhere() -> None:
    for link in LINK.findall(FENCE.sub("", README)):
        assert (EXAMPLE / link).resolve().exists(), link


def _here(line: str) -> str:
    """A line without what differs from machine to machine: its name, numbers of processes, how long a folder's name is."""
    line = re.sub(r"\boutput \d+ B$", "output 156 B", line)  # it prints the folder that it works in
    line = re.sub(r"^\S+ +\d+ +(alive|stopping)(?= )", r"laptop 1 \1", line)
    return re.sub(r"\bon \S+(, (?:in|labels)|$)", r"on laptop\1", line)


@pytest.mark.timeout(180)
def test_what_its_readme_shows_is_what_happens(tmp_path: Path) -> None:
    with empty_database() as url:
        (tmp_path / "horae").symlink_to(ROOT)
        session = Session(tmp_path)
        session._env["HORAE_STORE"] = url
        try:
            for step in steps(README):
                shown, status = session.run(step.command)
                printed, said = ([_here(line) for line in lines] for lines in (shown.splitlines(), step.said))
                assert agree(said, printed) if said else status == 0, f"$ {step.command} → {status}\n{shown}"
        finally:
            session.close()
