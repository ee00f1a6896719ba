"""Never a traceback, whatever is typed: the exit status is one of the table and a refusal is told in words."""

from __future__ import annotations

import json
import random

import pytest

from horae.cli.main import COMMANDS, main
from tests.support.process import TestHome

ODD = (
    "",
    "-",
    "--",
    "---",
    "--help",
    "-h",
    "-n",
    "-x",
    "0",
    "-1",
    "1",
    "9" * 30,
    "1e9",
    "nan",
    "next",
    "job",
    "kept",
    "no such",
    "30m",
    "in 2h",
    "every 5m",
    "* * * * *",
    "61 * * * *",
    "RRULE:FREQ=DAILY",
    "RRULE:",
    "2026-10-26T09:00",
    "2026-02-30",
    "now",
    "9999-12-31T23:59:59Z",
    "0001-01-01T00:00",
    "%",
    "_",
    "'",
    '"',
    "\\",
    "a\nb",
    "\x1b[2J",
    "\u202e",
    "\udcff",
    "é",
    "🎉",
    "x" * 5000,
    "../..",
    "/etc/passwd",
    "jobs/kept.md",
    "true",
    "hi.sh",
    "wall=20m",
    "wall=",
    "=",
    "wall=1s,output=1",
    "forever",
    "local",
    "all",
    "Europe/Paris",
    "UTC",
    "bash",
    "active",
    "running",
    "d3adde3841705388b4e208cf8b864e99",
    "$(true)",
    ";",
    "\t",
    "null",
    "{}",
    "[]",
)
OPTIONS = """
    --all --state --limit --cursor --name --timezone --script --command --agent --no-agent --deliver --skill --model
    --repeat --env --paused --schedule --prompt --enable --disable --unset --editor --reason --dry --wait --with
    --secret --workdir --landlock --sandbox --follow --from -n --to --example --json --home --no-web --bogus
"""
STAYS = {"up", "web", "mcp"}  # they would serve until somebody stops them
VERBS = [*COMMANDS, "help", "nonsense", "--version"]


def words_of(dice: random.Random) -> list[str]:
    """One command line, mostly with a command that exists."""
    words = [dice.choice(("--json", "--bogus"))] if dice.random() < 0.2 else []
    words.append(dice.choice(VERBS))
    for _ in range(dice.randint(0, 5)):
        words.append(dice.choice(OPTIONS.split()) if dice.random() < 0.4 else dice.choice(ODD))
    return words


@pytest.mark.parametrize("seed", range(10))
def test_no_command_line_ends_in_a_traceback(
    home: TestHome, seed: int, monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    monkeypatch.chdir(tmp_path)  # `--home ''` and the like must not reach the repository
    home.env |= {"EDITOR": "false", "VISUAL": "", "HOME": str(tmp_path)}
    home.json("add", "every 1h", "--script", "hi.sh", "--name", "Kept")
    dice = random.Random(seed)
    for _ in range(60):
        words = words_of(dice)
        for stays in STAYS & set(words):
            words.insert(words.index(stays) + 1, "--bogus")
        answer = home.horae(*words, status=None)
        assert answer.status in (*range(7), 130), answer
        if "--json" in words:
            assert json.loads(answer.out), answer
        elif answer.status in (2, 3, 4, 5, 6):
            assert answer.err.startswith("error: "), answer


@pytest.mark.parametrize("name", [*COMMANDS])
def test_help_is_there_for_every_command(home: TestHome, name: str) -> None:
    said = home.horae(name, "--help").out
    assert said.startswith(f"usage: horae {name}")
    assert COMMANDS[name][1] in said
    assert home.json(name, "--help")["help"] == said.rstrip("\n")
    assert home.horae("help", name).out == said


def test_a_bug_of_ours_is_not_dressed_up(home: TestHome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("horae.cli.main.dispatch", lambda words, output: {}["missing"])
    with pytest.raises(KeyError):
        main(["list"])
