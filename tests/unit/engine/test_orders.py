"""What a run gets to see: an allow-list, what its job names, and nothing else of the gateway's environment."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from horae.core.model import Limits
from horae.core.preflight import Facts
from horae.engine.orders import environment, order_for
from horae.limits import KILL_GRACE_S, OUTPUT_BYTES_DEFAULT, PROCESSES_DEFAULT, WALL_DEFAULT_S
from horae.ports import Settings
from tests.support.builders import START, a_claim, a_job

SECRETS = {
    "ANTHROPIC_API_KEY": "s1",
    "AWS_SECRET_ACCESS_KEY": "s2",
    "TELEGRAM_TOKEN": "s3",
    "PYTHONPATH": "/x",
    "LD_PRELOAD": "/x.so",
    "SSH_AUTH_SOCK": "/s",
    "HORAE_RUN_ID": "outer",
    "HORAE_HOME": "/outer",
    "HORAE_TOKEN": "s4",
    "path": "/lower",
    "XLC_ALL": "s5",
}
USUAL = {"PATH": "/usr/bin", "HOME": "/home/me", "LANG": "C.UTF-8", "LC_TIME": "de_DE", "TZ": "Europe/Paris"}


def settings(**given: Any) -> Settings:
    return Settings("/h", env={**USUAL, **SECRETS}, **given)


def test_a_secret_of_the_gateway_never_reaches_a_run() -> None:
    env = environment(a_claim(), settings(), {})
    ours = ("HORAE_", "TRACEPARENT")
    assert {name: value for name, value in env.items() if not name.startswith(ours)} == USUAL
    assert not set(SECRETS.values()) & set(env.values())


def test_what_the_job_or_the_config_names_is_passed() -> None:
    claim = a_claim(job=a_job(env=("TELEGRAM_TOKEN", "NOT_SET")))
    env = environment(claim, settings(pass_env=("SSH_AUTH_SOCK",)), {})
    assert (env["TELEGRAM_TOKEN"], env["SSH_AUTH_SOCK"]) == ("s3", "/s")
    assert "NOT_SET" not in env
    assert "ANTHROPIC_API_KEY" not in env


def test_a_run_learns_who_it_is_and_cannot_be_told_otherwise_by_the_environment() -> None:
    claim = a_claim(
        job=a_job(env=("HORAE_RUN_ID", "HORAE_HOME")),
        offset_s=3600,
        attempt=2,
        missed=4,
        claimed_at=START + timedelta(seconds=90, milliseconds=250),
    )
    env = environment(claim, settings(), {})
    assert {name: value for name, value in env.items() if name.startswith("HORAE_")} == {
        "HORAE_HOME": "/h",
        "HORAE_JOB_ID": claim.job_id,
        "HORAE_JOB_NAME": "Tides",
        "HORAE_RUN_ID": claim.run_id,
        "HORAE_ATTEMPT": "2",
        "HORAE_OCCURRENCE_KEY": claim.key,
        "HORAE_SLOT": "2026-03-02T09:00:00+01:00",
        "HORAE_LATENESS_S": "90.250",
        "HORAE_MISSED": "4",
        "HORAE_TRIGGER": "schedule",
    }


def test_a_run_of_a_hook_knows_it_and_finds_what_came_unchanged() -> None:
    env = environment(a_claim(cause="hook ci", input="x\nHORAE_HOME=/evil", trigger="manual"), settings(), {})
    assert (env["HORAE_TRIGGER"], env["HORAE_HOOK"], env["HORAE_WITH_FORM"]) == ("hook", "ci", "text")
    assert (env["HORAE_WITH"], env["HORAE_HOME"]) == ("x\nHORAE_HOME=/evil", "/h")
    person = environment(a_claim(input="x", trigger="manual"), settings(), {})
    assert person["HORAE_TRIGGER"] == "manual"
    assert not {"HORAE_HOOK", "HORAE_WITH_FORM"} & set(person)


def test_a_clock_that_was_set_back_makes_no_negative_lateness() -> None:
    claim = a_claim(claimed_at=START - timedelta(seconds=9))
    assert environment(claim, settings(), {})["HORAE_LATENESS_S"] == "0.000"


@pytest.mark.parametrize("given", ["", "some words", "\n"])
def test_the_input_of_a_manual_run_is_passed_as_it_is(given: str) -> None:
    assert environment(a_claim(input=given, trigger="manual"), settings(), {})["HORAE_WITH"] == given
    assert "HORAE_WITH" not in environment(a_claim(), settings(), {})


def test_secrets_go_before_the_gateways_environment_and_not_before_what_a_run_is() -> None:
    claim = a_claim(job=a_job(env=("TELEGRAM_TOKEN",), secrets=("TELEGRAM_TOKEN", "HORAE_RUN_ID", "DB")))
    facts = Facts(("x",), "/", secrets={"TELEGRAM_TOKEN": "from the file", "HORAE_RUN_ID": "another", "DB": "d"})
    env = order_for(claim, facts, settings()).env
    assert (env["TELEGRAM_TOKEN"], env["DB"], env["HORAE_RUN_ID"]) == ("from the file", "d", claim.run_id)


def test_secrets_are_not_shown_with_the_facts() -> None:
    assert "hunter2" not in repr(Facts(("x",), "/", secrets={"DB": "hunter2"}))


@pytest.mark.parametrize(
    ("limits", "wall", "by_script"),
    [
        (Limits(), WALL_DEFAULT_S, False),
        (Limits(wall_s=20), 20, False),
        (Limits(wall_s=20, script_s=5), 5, True),
        (Limits(wall_s=5, script_s=20), 5, False),
        (Limits(script_s=7), 7, True),
    ],
)
def test_the_tighter_limit_holds(limits: Limits, wall: float, by_script: bool) -> None:
    order = order_for(a_claim(job=a_job(limits=limits)), Facts(("/bin/sh", "x"), "/h/scripts"), settings())
    assert (order.argv, order.cwd) == (("/bin/sh", "x"), "/h/scripts")
    assert (order.bounds.wall_s, order.bounds.grace_s, order.bounds.by_script) == (wall, KILL_GRACE_S, by_script)


def test_what_a_job_says_of_its_limits_is_what_its_run_gets() -> None:
    plain = order_for(a_claim(), Facts(), settings()).bounds
    assert (plain.output_bytes, plain.processes) == (OUTPUT_BYTES_DEFAULT, PROCESSES_DEFAULT)
    assert (plain.memory_bytes, plain.cpu_s, plain.tight) == (None, None, False)
    asked = Limits(output_bytes=10**9, memory_bytes=2**29, cpu_s=60.0, processes=9)
    bounds = order_for(a_claim(job=a_job(limits=asked)), Facts(), settings()).bounds
    assert (bounds.output_bytes, bounds.memory_bytes, bounds.cpu_s, bounds.processes) == (10**9, 2**29, 60.0, 9)
    assert bounds.tight


def test_a_job_may_do_without_landlock() -> None:
    assert order_for(a_claim(), Facts(), settings()).landlock
    assert not order_for(a_claim(job=a_job(landlock=False)), Facts(), settings()).landlock
