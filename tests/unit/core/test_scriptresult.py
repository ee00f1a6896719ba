"""What a script says with its last line, and what becomes of a run by it."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.core.model import Cause, Result, Retries
from horae.core.outcome import LIMITS_HIT, gist, judge
from horae.core.retry import cause_of, retry_delay
from horae.core.scriptresult import Said, said
from horae.limits import ATTACHMENTS_MAX
from tests.support.builders import a_job
from tests.support.builders import a_result as any_result


def a_result(**given: Any) -> Result:
    """Of a run that has made some files."""
    return any_result(made=("a.png", "b/c.txt", "page.html"), **given)


def line(**entries: Any) -> str:
    return json.dumps({"horae": entries})


# ── what is said


@pytest.mark.parametrize(
    "printed",
    [
        "",
        "high at six",
        "{}",
        "[]",
        "null",
        '{"wakeAgent": true}',
        '{"wakeAgent": 0}',
        '{"wakeAgent": null}',
        '{"wakeAgent": "false"}',
        '{"wakeagent": false}',
        '{"x": {"wakeAgent": false}}',
        '[{"wakeAgent": false}]',
        '{"wakeAgent": false} done',
        'done {"wakeAgent": false}',
        "{wakeAgent: false}",
        "{'wakeAgent': False}",
        '{"wakeAgent": false}\nbut then',
        '{"horae": "ok"}',
        '{"horae": null}',
        '{"horae": {"status": "silent"}, "other": 1}',
        '{"Horae": {"status": "silent"}}',
        '{"horae": {"status": "silent"}}\nmore',
        '{"horae": {\n"status": "silent"\n}}',
        '{"a": ' * 100_000 + "1" + "}" * 100_000,
        "{" + "[" * 200_000 + "}",
        '{"a": ' + "9" * 200_000 + "}",
    ],
)
def test_what_is_no_such_line_is_the_message(printed: str) -> None:
    assert said(f"\n{printed}\n\n") == Said(printed)


@pytest.mark.parametrize(
    "printed",
    [
        '{"wakeAgent": false}',
        'looked at 3 boats\n\n  {"wakeAgent":false}  \n\n\t\n',
        'x\r\n{"wakeAgent": false}\r\n',
        '{"wakeAgent": false, "why": "nothing new"}',
    ],
)
def test_wake_agent_false_in_the_last_line_is_silence(printed: str) -> None:
    assert said(printed).status == "silent"
    ending = judge("Tides", a_result(stdout=printed))
    assert (ending.event, ending.message, ending.alert, ending.reason) == ("complete", "", False, "exit status 0")


def test_a_result_replaces_what_was_printed() -> None:
    ending = judge(
        "Tides", a_result(stdout=f"noise\n{line(message=' high at six ', attachments=['a.png', 'b/c.txt'])}\n")
    )
    assert (ending.event, ending.message, ending.reason) == ("complete", "high at six", "exit status 0")
    assert ending.attachments == ("a.png", "b/c.txt")
    assert not ending.alert


def test_what_a_result_leaves_out_is_as_without_it() -> None:
    assert judge("Tides", a_result(stdout=f"high\nlow\n\n{line()}")).message == "high\nlow"
    assert judge("Tides", a_result(stdout=line(status="ok"))).message == ""
    assert judge("Tides", a_result(stdout=f"high\n{line(message='')}")).message == ""


def test_a_silent_result_says_nothing_and_keeps_its_files() -> None:
    ending = judge("Tides", a_result(stdout=line(message="same as before", status="silent", attachments=["a.png"])))
    assert (ending.event, ending.message, ending.attachments) == ("complete", "", ("a.png",))


# ── a failure of its own word


def test_a_script_may_say_that_it_failed() -> None:
    message = "no tide table\nthe page has moved"
    printed = f"noise\n{line(message=message, status='failed', attachments=['page.html'])}"
    ending = judge("Tides", a_result(stdout=printed, stderr="404"))
    assert (ending.event, ending.alert) == ("fail", True)
    assert ending.reason == "the script reported failure: no tide table"
    assert ending.message.startswith("Tides failed: the script reported failure: no tide table\n\n")
    assert "the page has moved" in ending.message
    assert ending.message.endswith("stderr:\n404")
    assert (ending.attachments, gist(ending)) == (("page.html",), "no tide table")
    assert cause_of(ending) == "failure"


def test_without_a_message_the_reason_ends_there() -> None:
    ending = judge("Tides", a_result(stdout=line(status="failed")))
    assert (ending.reason, ending.message) == (
        "the script reported failure",
        "Tides failed: the script reported failure",
    )


def test_a_long_or_drawing_first_line_is_cut_and_shown_as_it_is() -> None:
    ending = judge("Tides", a_result(stdout=line(message="\x1b[31m" + "x" * 1000, status="failed")))
    assert ending.reason.startswith("the script reported failure: \\x1b[31mxxx")
    assert len(ending.reason) < 250
    assert "x" * 1000 in ending.message


@pytest.mark.parametrize("status", ["ok", "silent", "failed"])
def test_an_exit_status_counts_more_than_a_good_word(status: str) -> None:
    ending = judge("Tides", a_result(exit_code=3, stdout=line(message="fine", status=status, attachments=["a.png"])))
    assert (ending.event, ending.reason, ending.alert) == ("fail", "exit status 3", True)
    assert (ending.attachments, gist(ending)) == (("a.png",), "fine")
    assert ending.message == "Tides failed: exit status 3\n\nstdout:\nfine"


def test_a_failing_program_is_never_silenced() -> None:
    for result in ({"exit_code": 1}, {"signal": 9, "exit_code": None}, {"ended_by": "memory limit of 1M reached"}):
        ending = judge("Tides", a_result(stdout='{"wakeAgent": false}', **result))
        assert (ending.event, ending.alert) == ("fail", True)
        assert ending.message


# ── mistakes are said, and undo nothing


@pytest.mark.parametrize(
    ("entries", "note"),
    [
        ({"colour": 1}, "its result names 'colour', which means nothing here"),
        ({"message": 3}, "the message in its result is no text"),
        ({"status": "good"}, "the status in its result is 'good', not ok, failed, silent"),
        ({"status": None}, "the status in its result is None"),
        ({"status": ["failed"]}, "the status in its result is ['failed']"),
        ({"attachments": "a.png"}, "the attachments in its result are no list"),
        ({"attachments": [1]}, "its attachment 1 is no path below"),
        *(
            ({"attachments": [path]}, "no path below $HORAE_OUTPUT")
            for path in ("", "/etc/passwd", "..", "../x", "a/../../x", "a/..", "a\0b", "a\nb", "\ud800", "x" * 5000)
        ),
    ],
)
def test_a_mistake_in_a_result_is_said(entries: dict[str, Any], note: str) -> None:
    ending = judge("Tides", a_result(stdout=f"printed\n{line(**entries)}"))
    assert (ending.event, ending.message, ending.attachments) == ("complete", "printed", ())
    assert ending.reason.startswith("exit status 0; ")
    assert note in ending.reason
    assert len(ending.reason) < 200


def test_what_is_right_beside_a_mistake_counts() -> None:
    given = line(message="m", status="failed", attachments=["../x", "a.png", "a.png"], colour="red")
    ending = judge("Tides", a_result(stdout=given))
    assert (ending.event, ending.attachments) == ("fail", ("a.png",))
    assert "'../x' is no path" in ending.reason
    assert "names 'colour'" in ending.reason


def test_many_mistakes_and_many_files_have_an_end() -> None:
    told = said(line(**{f"k{n}": n for n in range(50)}, attachments=[f"{n}.png" for n in range(500)]))
    assert len(told.notes) == 4
    assert told.notes[-1] == "and 48 more mistakes in it"
    assert told.attachments == tuple(f"{n}.png" for n in range(ATTACHMENTS_MAX))


def test_what_no_store_takes_is_replaced() -> None:
    told = said('{"horae": {"message": "a\\ud800b\\u0000c"}}')
    assert told.message == "a?b\u2400c"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["horae", "wakeAgent", "message", "status", "attachments", "x"]), inner, max_size=4
            )
        ),
        max_leaves=20,
    )
)
def test_any_json_is_taken(value: Any) -> None:
    ending = judge("Tides", a_result(stdout=json.dumps(value)))
    assert ending.event in ("complete", "fail")
    ending.message.encode()
    ending.reason.encode()
    assert all(".." not in path.split("/") and not path.startswith("/") for path in ending.attachments)


@given(st.text())
def test_text_that_is_no_object_is_its_own_message(text: str) -> None:
    if not text.strip().endswith("}"):
        assert judge("Tides", a_result(stdout=text)).message == text.strip()


def test_a_run_whose_end_nobody_saw_is_lost_whatever_it_printed() -> None:
    result = a_result(lost="its shim is gone", stdout=line(message="fine"))
    ending = judge("Tides", result)
    assert (ending.event, ending.reason, ending.alert, ending.result) == ("lose", "its shim is gone", True, result)
    assert "nobody can say" in ending.message
    assert cause_of(ending) is None


# ── limits


@pytest.mark.parametrize("limit", LIMITS_HIT)
def test_a_limit_is_a_failure_with_its_cause(limit: str) -> None:
    ending = judge("Tides", a_result(exit_code=None, signal=9, ended_by=f"{limit} of 5 reached"))
    assert (ending.event, ending.alert, ending.reason) == ("fail", True, f"{limit} of 5 reached")
    cause: Cause = "timeout" if limit in ("wall limit", "script limit", "idle limit") else "failure"
    assert cause_of(ending) == cause
    for asked in get_args(Cause):
        again = retry_delay(a_job(retries=Retries(max=1, on=(asked,))), ending, 1, "k")
        assert (again is not None) == (asked == cause)


@pytest.mark.parametrize("words", ["the gateway was stopped", "cancelled by me", "the wall limit", "output"])
def test_anything_else_that_ended_it_was_somebodys_decision(words: str) -> None:
    ending = judge("Tides", a_result(exit_code=None, signal=15, ended_by=words))
    assert (ending.event, cause_of(ending)) == ("cancel", None)


def test_an_attachment_that_was_not_made_is_no_attachment_and_is_said() -> None:
    ending = judge("Tides", a_result(stdout=line(message="high", attachments=["a.png", "gone.png"])))
    assert (ending.event, ending.attachments) == ("complete", ("a.png",))
    assert ending.reason == "exit status 0; its attachment gone.png is not in $HORAE_OUTPUT"
