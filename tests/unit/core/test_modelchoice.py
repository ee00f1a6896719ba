"""Which model a job uses: its pin, else what it was frozen at; what is in the way; who moves and who does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.core.agent import AgentSettings, Model, Provider
from horae.core.modelchoice import Resolved, Using, model_named, moves, provider_problems, resolve
from horae.errors import NotFound

LOCAL = Provider("local", "openai", "http://localhost/v1")
CLOUD = Provider("cloud", "anthropic", "https://api.anthropic.com", "CLOUD_KEY")
SMALL, LARGE = Model("small", "local", "s"), Model("large", "cloud", "l")
SETTINGS = AgentSettings(
    providers={"local": LOCAL, "cloud": CLOUD}, models={"small": SMALL, "large": LARGE}, model="small", fleet="large"
)


def using(pin: str | None = None, frozen: str | None = None, *, own: bool = False) -> Using:
    return Using("id", "tides", pin, frozen, has_own=own)


def test_a_pin_counts_then_what_was_frozen_and_never_a_default_of_today() -> None:
    assert resolve(using("small", "large"), SETTINGS) == Resolved("small", "pin", SMALL, LOCAL)
    assert resolve(using(None, "small"), SETTINGS) == Resolved("small", "frozen", SMALL, LOCAL)
    assert using("small", "large").source == "pin"
    assert (using().model, using().source) == (None, None)


@pytest.mark.parametrize(
    ("job", "settings", "says"),
    [
        (using(), SETTINGS, "no default when it was made (`horae model use large tides --confirm`)"),
        (using(), AgentSettings(), "write [providers.NAME] and [models.NAME]"),
        (using("smal"), SETTINGS, "has no [models.smal] (did you mean small?); `horae edit tides --model NAME`"),
        (using(None, "gone"), SETTINGS, "has no [models.gone]"),
        (using(None, "gone"), SETTINGS, "`horae model use NAME tides --confirm`"),
    ],
)
def test_without_one_it_is_said_what_to_do(job: Using, settings: AgentSettings, says: str) -> None:
    found = resolve(job, settings)
    assert isinstance(found, str)
    assert says in found


def test_an_agent_that_chooses_by_itself_needs_none() -> None:
    assert resolve(using(own=True), SETTINGS) is None
    assert not using(own=True).needs_one
    assert isinstance(resolve(using("small", own=True), SETTINGS), Resolved)


def test_a_model_that_is_not_there_is_told_with_its_neighbours() -> None:
    assert model_named("small", SETTINGS) is SMALL
    with pytest.raises(NotFound, match="did you mean large"):
        model_named("lage", SETTINGS)
    with pytest.raises(NotFound) as caught:
        model_named("small", AgentSettings())
    assert "[models.NAME] first" in (caught.value.hint or "")


def test_what_is_in_the_way_of_a_provider() -> None:
    assert provider_problems(LOCAL, lambda _: True, lambda _: False) == ()
    assert provider_problems(CLOUD, lambda _: False, lambda _: False) == ()
    key, library = provider_problems(CLOUD, lambda name: name == "CLOUD_KEY", lambda module: module == "anthropic")
    assert key == "its key CLOUD_KEY has no value (`horae secrets set CLOUD_KEY`)"
    assert "pip install 'horae[agents]'" in library


@given(st.lists(st.tuples(st.sampled_from([None, "small", "large"]), st.sampled_from([None, "small", "large"]))))
def test_every_job_moves_is_pinned_or_is_there_already(given: list[tuple[str | None, str | None]]) -> None:
    jobs = [Using(str(number), str(number), pin, frozen) for number, (pin, frozen) in enumerate(given)]
    found = moves(jobs, "small")
    assert sorted((*found.moved, *found.pinned, *found.same), key=lambda job: int(job.id)) == jobs
    assert all(job.pin is None and job.frozen != "small" for job in found.moved)
    assert all(job.pin is not None for job in found.pinned)
    assert all(job.model == "small" for job in found.same)
