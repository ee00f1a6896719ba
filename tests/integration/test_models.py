"""`horae model use` while a gateway runs: it moves the jobs, and its own settings stay what it has read at its start."""

from __future__ import annotations

import tomllib

from tests.support.process import TestHome, running

INSIDE = True
CONFIG = """
[providers.local]
kind = "openai"
base_url = "http://127.0.0.1:1/v1"
[models.small]
provider = "local"
id = "a"
[models.large]
provider = "local"
id = "b"
[agents]
model = "small"
"""
NEW = '[models.newer]\nprovider = "local"\nid = "c"\n'


def uses(home: TestHome) -> dict[str, str | None]:
    return {job["slug"]: job["model"] for job in home.look("model")["jobs"]}


def test_a_running_gateway_moves_jobs_and_says_what_it_does_not_know(home: TestHome) -> None:
    home.config(CONFIG)
    with running(home):
        home.json("add", "every day at 04:00", "Hello?", "--name", "One", "--agent")
        assert uses(home) == {"one": "small"}
        moved = home.json("model", "use", "large", "one", "--confirm")
        assert [step["target"] for step in moved["applied"]] == ["one"]
        assert uses(home) == {"one": "large"}
        home.config(NEW + CONFIG)
        refused = home.error("model", "use", "newer", "one", "--confirm", status=4)
        assert "it has read config.toml before that was there" in refused["message"]
        assert "start the gateway anew" in refused["hint"]
        assert uses(home) == {"one": "large"}
        chosen = home.json("model", "use", "newer", "--confirm")
        assert [step["op"] for step in chosen["applied"]] == ["default"]
        assert any("until it is started anew" in warning for warning in chosen["warnings"])
        home.json("add", "every day at 05:00", "Hello?", "--name", "Two", "--agent")
        assert uses(home) == {"one": "large", "two": "small"}
    with running(home):
        home.json("add", "every day at 06:00", "Hello?", "--name", "Three", "--agent")
        assert uses(home) == {"one": "large", "two": "small", "three": "newer"}
        done = home.json("model", "use", "newer", "--all", "--confirm")
        assert len(done["applied"]) == 2
    assert set(uses(home).values()) == {"newer"}
    assert tomllib.loads((home.path / "config.toml").read_text())["agents"] == {"model": "newer"}
