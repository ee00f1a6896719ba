"""`horae model`: what there is and who uses it; a default for new jobs; moving jobs, seen before it is done."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from tests.support.process import TestHome

CONFIG = """
# which ones we have
[providers.local]
kind = "openai"
base_url = "http://127.0.0.1:8080/v1"

[providers.cloud]
kind = "anthropic"
key = "CLOUD_KEY"

[models.small]
provider = "local"
id = "acme/small-1"
input = 0.15
output = 0.6

[models.large]
provider = "cloud"
id = "claude"
"""


@pytest.fixture
def home(home: TestHome) -> TestHome:
    home.config(CONFIG)
    return home


def agent(home: TestHome, slug: str, *lines: str) -> None:
    """A job file for an agent; it is taken in at the next look."""
    text = "\n".join(("schedule: every 1h", "agent: true", *lines))
    home.file(slug).write_text(f"---\n{text}\n---\nSay hello.\n", encoding="utf-8")


def uses(home: TestHome) -> dict[str, tuple[str | None, str | None]]:
    """slug → model, and from where."""
    return {job["slug"]: (job["model"], job["source"]) for job in home.json("model")["jobs"]}


def settings(home: TestHome) -> dict[str, Any]:
    return tomllib.loads((home.path / "config.toml").read_text(encoding="utf-8"))


def test_without_models_it_says_what_to_write(home: TestHome) -> None:
    home.config("")
    assert "[models.NAME]" in home.horae("model").out
    missing = home.error("model", "use", "small", status=3)
    assert "[providers.NAME]" in missing["hint"]


def test_providers_and_models_with_what_is_in_the_way(home: TestHome) -> None:
    found = home.json("model")
    assert (found["global"], found["fleet"], found["default"]) == (None, None, None)
    local, cloud = found["providers"]
    assert (local["problems"], local["key"], local["key_in"]) == ([], None, [])
    assert cloud["problems"] == ["its key CLOUD_KEY has no value (`horae secrets set CLOUD_KEY`)"]
    assert [(row["name"], row["input"], row["output"], row["jobs"]) for row in found["models"]] == [
        ("small", 0.15, 0.6, 0),
        ("large", None, None, 0),
    ]
    cloud = home.json("model", CLOUD_KEY="hunter2hunter2")["providers"][1]
    assert (cloud["problems"], cloud["key_in"]) == ([], ["environment"])
    assert "hunter2" not in home.horae("model", CLOUD_KEY="hunter2hunter2").out


def test_a_default_is_for_jobs_that_are_made_later(home: TestHome) -> None:
    home.json("model", "use", "small", "--confirm")
    agent(home, "first")
    agent(home, "pinned", "model: small")
    home.write("script", script="hi.sh")
    assert uses(home) == {"first": ("small", "frozen"), "pinned": ("small", "pin")}
    before = (home.path / "config.toml").read_text(encoding="utf-8")
    planned = home.json("model", "use", "large")
    assert planned["plan"] == [
        {"op": "default", "target": "agents.model", "job": None, "before": "small", "after": "large"}
    ]
    assert (planned["applied"], planned["undo"]) == ([], None)
    assert {(row["slug"], row["source"], row["way"]) for row in planned["unaffected"]} == {
        ("first", "frozen", "horae model use large first --confirm"),
        ("pinned", "pin", "horae edit pinned --model large"),
    }
    assert "provider cloud: its key CLOUD_KEY has no value" in planned["warnings"][0]
    assert (home.path / "config.toml").read_text(encoding="utf-8") == before
    done = home.json("model", "use", "large", "--confirm")
    assert done["applied"] == planned["plan"]
    assert done["undo"] == "horae model use small --confirm"
    assert settings(home)["agents"]["model"] == "large"
    assert "# which ones we have" in (home.path / "config.toml").read_text(encoding="utf-8")
    agent(home, "second")
    assert uses(home) == {"first": ("small", "frozen"), "pinned": ("small", "pin"), "second": ("large", "frozen")}
    ((detail,),) = home.sql("SELECT detail FROM journal WHERE what = 'model_default' AND detail LIKE '%large%'")
    assert '"was": "small"' in detail or '"was":"small"' in detail


def test_jobs_are_moved_when_that_is_confirmed(home: TestHome) -> None:
    home.json("model", "use", "small", "--confirm")
    for slug in ("one", "two", "three"):
        agent(home, slug)
    agent(home, "pinned", "model: small")
    home.json("list")
    planned = home.json("model", "use", "large", "one", "two", "one", "pinned")
    assert [(step["op"], step["target"], step["before"], step["after"]) for step in planned["plan"]] == [
        ("move", "one", "small", "large"),
        ("move", "two", "small", "large"),
    ]
    assert [row["way"] for row in planned["unaffected"]] == ["horae edit pinned --model large"]
    assert set(uses(home).values()) == {("small", "frozen"), ("small", "pin")}
    done = home.json("model", "use", "large", "one", "--confirm")
    assert [step["target"] for step in done["applied"]] == ["one"]
    assert done["undo"] == "horae model use small one --confirm"
    assert uses(home)["one"] == ("large", "frozen")
    assert uses(home)["two"] == ("small", "frozen")
    everyone = home.json("model", "use", "large", "--all", "--confirm")
    assert sorted(step["target"] for step in everyone["applied"]) == ["three", "two"]
    assert uses(home)["pinned"] == ("small", "pin")
    assert settings(home)["agents"]["model"] == "small"
    again = home.json("model", "use", "large", "--all", "--confirm")
    assert (again["plan"], again["applied"]) == ([], [])
    assert "used there already" in again["did"]
    shown = home.horae("model", "use", "small", "--all").out
    assert "one: large → small" in shown
    assert "nothing was changed: say it again with --confirm" in shown
    assert "pinned uses small, from its file" in shown


def test_jobs_without_any_model_get_a_new_default(home: TestHome) -> None:
    agent(home, "early")
    assert uses(home) == {"early": (None, None)}
    row = home.json("model")["jobs"][0]
    assert "`horae model use small early --confirm`" in row["problem"]
    done = home.json("model", "use", "large", "--global", "--confirm")
    assert [(step["op"], step["target"], step["before"]) for step in done["applied"]] == [
        ("default", "model", None),
        ("move", "early", None),
    ]
    assert uses(home) == {"early": ("large", "frozen")}
    assert settings(home)["model"] == "large"


def test_the_global_default_says_that_another_counts_before_it(home: TestHome) -> None:
    home.json("model", "use", "small", "--confirm")
    answer = home.json("model", "use", "large", "--global", "--confirm")
    assert any("agents.model in config.toml counts before" in warning for warning in answer["warnings"])
    assert home.json("model")["default"] == "small"


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (("use",), 2, "needs a model"),
        (("use", "small", "a", "--all"), 2, "name jobs, or say --all"),
        (("use", "small", "--all", "--global"), 2, "--global is for the default"),
        (("list", "small"), 2, "takes no name"),
        (("list", "--confirm"), 2, "takes no name"),
        (("use", "smal"), 3, "did you mean small"),
        (("use", "small", "nobody"), 3, "nobody"),
        (("use", "small", "script"), 4, "script has no agent"),
        (("use", "small", "broken"), 4, "is not valid"),
    ],
)
def test_what_cannot_be_meant_is_refused(home: TestHome, words: tuple[str, ...], status: int, says: str) -> None:
    home.write("script", script="hi.sh")
    home.write("broken", schedule="every blue moon")
    home.json("list")
    refused = home.error("model", *words, status=status)
    assert says in refused["message"]
    assert refused["hint"]


def test_a_run_may_look_and_not_choose(home: TestHome) -> None:
    assert home.json("model", HORAE_RUN_ID="ab12")["models"]
    refused = home.error("model", "use", "small", "--confirm", status=4, HORAE_RUN_ID="ab12")
    assert "is not for runs" in refused["message"]
    assert "agents" not in settings(home)


def test_an_agent_with_a_model_of_its_own_needs_none(home: TestHome) -> None:
    home.config(f'{CONFIG}\n[agents.other]\nkind = "command"\ncommand = ["other"]\n')
    agent(home, "own")
    home.file("own").write_text(home.file("own").read_text().replace("agent: true", "agent: other"))
    (row,) = home.json("model")["jobs"]
    assert (row["model"], row["problem"]) == (None, None)
    assert [step["op"] for step in home.json("model", "use", "small")["plan"]] == ["default"]


def told(home: TestHome, **env: str) -> list[tuple[str, bool]]:
    """What doctor says of agents."""
    checks = home.json("doctor", status=None, **env)["checks"]
    return [(item["what"], item["ok"]) for item in checks if item["check"] == "agents"]


def test_doctor_tells_which_providers_cannot_be_asked(home: TestHome) -> None:
    assert told(home) == [("provider cloud: its key CLOUD_KEY has no value (`horae secrets set CLOUD_KEY`)", False)]
    assert told(home, CLOUD_KEY="hunter2hunter2") == [("2 providers ready", True)]
    home.config(f'{CONFIG}\n[agents]\ntools = ["shell"]\n')
    assert "bwrap" in told(home, CLOUD_KEY="hunter2hunter2", PATH="/nowhere")[0][0]
    home.config("")
    assert told(home) == []
