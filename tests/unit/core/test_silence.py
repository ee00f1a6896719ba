"""The words with which an answer says how it is meant, alone and through the judgement on a run."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from horae.core.outcome import judge
from horae.core.silence import FAILED, SILENT, failure_in, is_silent
from tests.support.builders import a_result

REPORTS = [  # by what Hermes does with them: it loses all but the last seven
    "SILENT",
    "NO_REPLY",
    "no reply",
    "[silent]",
    "[Silent]",
    "All good.\n[SILENT]",
    "[SILENT]\nDisk 98% full",
    "[SILENT] Disk 98% full",
    "[SILENT]\n\n[SILENT]",
    "All good. [SILENT]",
    "All good.\nnothing [SILENT] to add",
    "**[SILENT]**",
    "`[SILENT]`",
    '"[SILENT]"',
    "> [SILENT]",
    "a silent night",
]


@pytest.mark.parametrize("printed", REPORTS)
def test_a_report_is_told_whatever_words_are_in_it(printed: str) -> None:
    ending = judge("Tides", a_result(stdout=f"{printed}\n"))
    assert (ending.event, ending.message, ending.alert) == ("complete", printed, False)


@pytest.mark.parametrize("printed", ["[SILENT]", "[SILENT]\n", "\n\n  [SILENT]\t\r\n", "\u00a0[SILENT]\u2003"])
def test_the_exact_word_alone_is_silence_and_is_on_record(printed: str) -> None:
    ending = judge("Tides", a_result(stdout=printed))
    assert (ending.event, ending.message, ending.alert) == ("complete", "", False)
    assert ending.silence == "the whole answer is [SILENT]"


def test_silences_can_be_told_apart() -> None:
    asleep = judge("Tides", a_result(stdout='3 harbours\n{"wakeAgent": false}'))
    nothing = judge("Tides", a_result(stdout="\n"))
    assert (asleep.message, asleep.silence) == ("", "its result says that it is silent")
    assert (nothing.message, nothing.silence) == ("", "nothing to say")


@given(st.text(), st.text())
@example(" \t", "\r\n")
@example("", ".")
def test_only_white_space_may_stand_around_it(before: str, behind: str) -> None:
    said = before + SILENT + behind
    assert is_silent(said) == (not before.strip() and not behind.strip())


@given(st.text())
def test_no_other_text_is_silence_or_failure_by_chance(text: str) -> None:
    assert is_silent(text) == (text.strip() == SILENT)
    assert (failure_in(text) is not None) == (text.strip().split("\n")[0].strip() == FAILED)


# ── a failure is never silent


@pytest.mark.parametrize("printed", ["", "[SILENT]", "[SILENT]\n", '{"wakeAgent": false}', "[FAILED]"])
@pytest.mark.parametrize(
    "how",
    [
        {"exit_code": 1},
        {"exit_code": None, "signal": 9},
        {"exit_code": None, "signal": 15, "ended_by": "wall limit of 20 minutes reached"},
        {"exit_code": None, "refused": "Exec format error"},
        {"exit_code": None, "lost": "its shim is gone"},
    ],
)
def test_a_run_that_went_wrong_is_told(printed: str, how: dict[str, Any]) -> None:
    ending = judge("Tides", a_result(stdout=printed, **how))
    assert ending.event in ("fail", "lose")
    assert ending.alert
    assert ending.message.startswith("Tides")


@pytest.mark.parametrize(
    ("printed", "reason", "told"),
    [
        ("[FAILED]\nDisk 98% full", "the script reported failure: Disk 98% full", "Disk 98% full"),
        ("[FAILED]\n[SILENT]", "the script reported failure: [SILENT]", "[SILENT]"),
        ("\n [FAILED] \n\n  first\nsecond\n", "the script reported failure: first", "first\nsecond"),
        ("[FAILED]", "the script reported failure", "Tides failed"),
        ("[FAILED]\n\n", "the script reported failure", "Tides failed"),
        ('[FAILED]\nno tides\n{"wakeAgent": false}', "the script reported failure: no tides", "no tides"),
        (json.dumps({"horae": {"message": "[FAILED]\nno tides"}}), "the script reported failure: no tides", "no tides"),
        (json.dumps({"horae": {"message": "[FAILED]\nx", "status": "silent"}}), "the script reported failure: x", "x"),
        (json.dumps({"horae": {"message": "[SILENT]", "status": "failed"}}), "the script reported failure", "[SILENT]"),
    ],
)
def test_an_answer_can_declare_its_failure(printed: str, reason: str, told: str) -> None:
    ending = judge("Tides", a_result(stdout=printed, stderr="a trace"))
    assert (ending.event, ending.alert) == ("fail", True)
    assert ending.reason.startswith(reason)
    assert told in ending.message
    assert "stderr:\na trace" in ending.message


@pytest.mark.parametrize(
    "printed", ["[FAILED] to connect", "it [FAILED]", "ok\n[FAILED]", "[failed]\nno", "FAILED\nno", "`[FAILED]`\nno"]
)
def test_other_uses_of_that_word_are_text(printed: str) -> None:
    ending = judge("Tides", a_result(stdout=printed))
    assert (ending.event, ending.message, ending.alert) == ("complete", printed, False)


pieces = st.lists(st.sampled_from(["[SILENT]", "[FAILED]", "\n", " ", "x", "{", "}", '"']), max_size=8).map("".join)


@given(pieces, st.integers(0, 2))
def test_a_bad_exit_is_an_alert_whatever_was_printed(printed: str, code: int) -> None:
    ending = judge("Tides", a_result(stdout=printed, exit_code=code))
    if code:
        assert (ending.event, ending.alert) == ("fail", True)
        assert ending.message
    elif ending.event == "fail":
        assert failure_in(printed) is not None
    else:
        assert (ending.message == "") == (printed.strip() in ("", SILENT))
