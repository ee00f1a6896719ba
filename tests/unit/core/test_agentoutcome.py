"""How each end of an agent is judged, what is told of it, and whether it is tried again."""

from __future__ import annotations

from typing import Any

import pytest

from horae.core.activity import HOWS, LATER, QUIET, Work
from horae.core.agentoutcome import FINAL, asking, used_words
from horae.core.model import Ending, Retries
from horae.core.outcome import gist, judge
from horae.core.retry import retry_delay
from horae.limits import MESSAGE_CHARS_MAX
from tests.support.builders import a_job, a_result

KEEN = a_job(agent=True, retries=Retries(max=3))


def ended(how: str | None, says: str = "", stdout: str = "", exit_code: int | None = 0, **given: Any) -> Ending:
    work = Work(how=how, says=says, turns=2, input=1000, output=234, usd=0.0123, **given.pop("work", {}))
    return judge("Tides", a_result(work=work, stdout=stdout, exit_code=exit_code, **given))


def again(ending: Ending) -> bool:
    return retry_delay(KEEN, ending, 1, "key") is not None


def test_an_answer_is_the_message_and_the_reason_says_what_it_took() -> None:
    ending = ended("done", stdout=" High water at 9.\n")
    assert (ending.event, ending.message, ending.alert) == ("complete", "High water at 9.", False)
    assert ending.reason == "answered; 2 turns, 1,234 tokens, $0.0123"
    assert gist(ending) == "High water at 9."


@pytest.mark.parametrize("answer", ["[SILENT]", " [SILENT]\n"])
def test_silence_is_on_record_and_not_sent(answer: str) -> None:
    ending = ended("done", stdout=answer)
    assert (ending.event, ending.message, ending.silence) == ("complete", "", "the whole answer is [SILENT]")


def test_an_empty_answer_that_got_so_far_is_allowed() -> None:
    ending = ended("done", stdout="\n")
    assert (ending.event, ending.message, ending.alert) == ("complete", "", False)


@pytest.mark.parametrize(
    ("answer", "reason", "message"),
    [
        ("[FAILED]\nno tide\nat all", "the agent says that it failed: no tide", "no tide\nat all"),
        ("[FAILED]\nno tide", "the agent says that it failed: no tide", ""),
        ("[FAILED]", "the agent says that it failed", ""),
    ],
)
def test_an_agent_that_says_that_it_failed_did(answer: str, reason: str, message: str) -> None:
    ending = ended("done", stdout=answer)
    assert (ending.event, ending.reason, ending.alert) == ("fail", reason, True)
    assert ending.message == f"Tides failed: {reason}" + (f"\n\n{message}" if message else "")
    assert again(ending)


@pytest.mark.parametrize("how", QUIET)
def test_nothing_to_do_is_a_quiet_success(how: str) -> None:
    ending = ended(how, "the page is as before")
    assert (ending.event, ending.message, ending.alert) == ("complete", "", False)
    assert ending.reason == ending.silence == "the page is as before"
    assert ended(how).reason == how


def test_who_waits_for_a_person_says_so_and_nothing_is_over() -> None:
    ask = {"tool": "shell", "args": "rm -r old", "digest": "d"}
    ending = ended("parked", "it wants to run a command", work={"ask": ask, "again_s": 3600.0, "state": "s"})
    assert (ending.event, ending.alert, ending.again_s) == ("park", True, 3600.0)
    assert ending.message == "Tides waits for your word: it wants to run a command\n\nrm -r old"
    assert not again(ending)


def test_what_is_asked_is_bounded_and_may_be_absent() -> None:
    assert asking("Tides", Work(says="x")) == "Tides waits for your word: x"
    assert len(asking("Tides", Work(says="x", ask={"args": "y" * 10**6}))) < MESSAGE_CHARS_MAX + 100


def test_of_a_provider_that_cannot_answer_nobody_hears() -> None:
    ending = ended("held", "429 from home", work={"again_s": 60.0})
    assert (ending.event, ending.message, ending.alert, ending.again_s) == ("park", "", False, 60.0)
    assert ending.reason == ending.silence == "429 from home"
    assert not again(ending)


@pytest.mark.parametrize("how", ["failed", "limit", "loop", "denied", "refused"])
def test_trouble_is_told_in_its_own_sentence_and_tried_again_only_if_that_can_help(how: str) -> None:
    ending = ended(how, "50 turns are used up", stdout="so far: 9", exit_code=1)
    assert (ending.event, ending.reason, ending.alert) == ("fail", "50 turns are used up", True)
    assert ending.message == "Tides failed: 50 turns are used up\n\nwhat it had said:\nso far: 9"
    assert again(ending) is (how == "failed")
    assert gist(ending) == ""


def test_every_end_has_its_case() -> None:
    assert {*FINAL, *QUIET, *LATER, "done", "failed"} == {*HOWS}


@pytest.mark.parametrize("how", [None, "done"])
def test_a_process_that_did_not_end_well_is_no_answer(how: str | None) -> None:
    ending = ended(how, "it has answered", stdout="an answer", exit_code=70, stderr="Trace\nRuntimeError: no\n")
    assert (ending.event, ending.alert) == ("fail", True)
    if how == "done":
        why = "the agent's process ended with exit status 70 and did not say why: RuntimeError: no"
        assert ending.reason == why
    assert "an answer" in ending.message
    killed = ended(how, exit_code=None, signal=9)
    assert (killed.event, killed.reason) == ("fail", "the agent's process was ended by signal 9")
    assert again(killed)


def test_an_end_that_nobody_told_is_a_failure_even_with_status_0() -> None:
    ending = ended(None, stdout="an answer")
    assert ending.reason == "the agent's process ended with exit status 0 and did not say why"
    assert ending.event == "fail"


def test_a_limit_of_the_run_goes_before_what_it_told() -> None:
    ending = ended(None, ended_by="wall limit of 1 hour reached", exit_code=None, signal=15)
    assert (ending.event, ending.reason) == ("fail", "wall limit of 1 hour reached")
    assert again(ending)
    assert ended("done", ended_by="gateway stopped", stdout="x").event == "cancel"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"turns": 1, "input": 5, "usd": 0.5}, "1 turn, 5 tokens, $0.50"),
        ({"turns": 2, "output": 1_234_567}, "2 turns, 1,234,567 tokens"),
        ({"usd": 0.0}, "0 turns, 0 tokens"),
    ],
)
def test_what_it_used_in_words(given: dict[str, Any], says: str) -> None:
    assert used_words(Work(**given)) == says
