"""What `config.toml` says about agents reaches the settings, and a mistake in it names the file and the key."""

from __future__ import annotations

from pathlib import Path

import pytest

from horae.core.agent import AgentSettings
from horae.core.agentform import TABLES
from horae.errors import Invalid
from horae.settings import KEYS, load

LOCAL = '[providers.local]\nkind = "openai"\nbase_url = "http://127.0.0.1:8080/v1"\n'
SMALL = f'{LOCAL}[models.small]\nprovider = "local"\nid = "acme/small-1"\n'


def home(tmp_path: Path, text: str) -> str:
    (tmp_path / "config.toml").write_text(text, encoding="utf-8")
    return str(tmp_path)


def test_each_table_is_a_key_of_the_file() -> None:
    assert set(TABLES) <= set(KEYS)


def test_without_any_of_it_there_are_no_models(tmp_path: Path) -> None:
    found = load(home(tmp_path, ""), {})
    assert (found.agents, found.keyring) == (AgentSettings(), False)


def test_all_of_it_is_read(tmp_path: Path) -> None:
    text = (
        f'model = "small"\nkeyring = "on"\n{SMALL}[agents]\nturns = 5\n[mcp.x]\ncommand = ["x"]\n[budget]\nusd_day = 5'
    )
    found = load(home(tmp_path, text), {})
    agents = found.agents
    assert (agents.model, agents.turns, agents.day.usd, list(agents.mcp), found.keyring) == (
        "small",
        5,
        5.0,
        ["x"],
        True,
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("model = 1", "model must be the name of a model"),
        ('model = "smal"\n' + SMALL, "model: there is no 'smal'"),
        ("providers = []", "providers must be a table of providers"),
        ("models = 1", "models must be a table of models"),
        ("agents = true", "agents must be a table"),
        ("mcp = 1", "mcp must be a table of servers"),
        ("budget = 1", "budget must be a table"),
        ("keyring = true", "keyring must be on or off, not True"),
        ('keyring = "yes"', "keyring must be on or off, not 'yes'"),
        (f'{LOCAL}key = "sk-abc"', "providers.local.key: looks like a secret itself"),
        ("provider = {}", "unknown key provider"),
    ],
)
def test_a_mistake_names_file_and_key(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(Invalid) as caught:
        load(home(tmp_path, text), {})
    assert caught.value.message.startswith(f"{tmp_path}/config.toml: {said}")
    assert caught.value.details["file"] == f"{tmp_path}/config.toml"
    assert "sk-abc" not in f"{caught.value} {caught.value.hint} {caught.value.details}"


@pytest.mark.parametrize("key", ["model", "providers", "agents", "mcp"])
def test_what_stands_in_the_place_of_a_table_is_not_shown(tmp_path: Path, key: str) -> None:
    with pytest.raises(Invalid) as caught:
        load(home(tmp_path, f'{key} = ["hunter2"]'), {})
    assert "hunter2" not in f"{caught.value} {caught.value.hint} {caught.value.details}"
