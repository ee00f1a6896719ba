"""`[hooks]` as a person writes it, and what is said of what is wrong in it."""

from __future__ import annotations

from typing import Any

import pytest

from horae.core.hookform import BYTES_DEFAULT, Hook, cause_of, hook_of, hooks_of
from horae.errors import Invalid

GOOD = {"kind": "github", "secret": "CI_SECRET", "jobs": ["deploy"]}


def test_a_hook_is_read_with_its_defaults() -> None:
    assert hooks_of({"ci": GOOD})["ci"] == Hook("ci", "github", ("CI_SECRET",), ("deploy",))
    assert hooks_of({"ci": GOOD})["ci"].bytes_max == BYTES_DEFAULT


def test_everything_can_be_said() -> None:
    given = {"kind": "standard", "secret": ["A_KEY", "B_KEY"], "jobs": "one", "events": ["a.b"], "max": "100k"}
    hook = hooks_of({"x": {**given, "tolerance": "1m", "rate": 5}})["x"]
    assert hook == Hook("x", "standard", ("A_KEY", "B_KEY"), ("one",), ("a.b",), 102400, 60.0, 5)


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"ci": "x"}, "hooks.ci"),
        ({"Not A Name": GOOD}, 'hooks."Not A Name"'),
        ({"ci": {**GOOD, "kind": "gitlab"}}, "hooks.ci.kind"),
        ({"ci": {"kind": "github", "jobs": "a"}}, "hooks.ci.secret"),
        ({"ci": {**GOOD, "jobs": []}}, "hooks.ci.jobs"),
        ({"ci": {**GOOD, "secret": "ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}}, "hooks.ci.secret"),
        ({"ci": {**GOOD, "max": "101k"}}, "hooks.ci.max"),
        ({"ci": {**GOOD, "max": "lots"}}, "hooks.ci.max"),
        ({"ci": {**GOOD, "tolerance": "5m"}}, "hooks.ci.tolerance"),
        ({"ci": {**GOOD, "kind": "bearer", "events": ["push"]}}, "hooks.ci.events"),
        ({"ci": {**GOOD, "rate": 0}}, "hooks.ci.rate"),
        ({"ci": {**GOOD, "job": "x"}}, "hooks.ci.job"),
    ],
)
def test_what_is_wrong_is_named(given: dict[str, Any], key: str) -> None:
    with pytest.raises(Invalid) as caught:
        hooks_of(given)
    assert caught.value.details["key"] == key
    assert "ghp_" not in str(caught.value)


def test_a_cause_is_read_as_it_was_written_and_others_are_none_of_a_hook() -> None:
    assert hook_of(cause_of("ci", "text")) == ("ci", "text")
    assert hook_of(cause_of("ci", "base64")) == ("ci", "base64")
    assert [hook_of(words) for words in (None, "after hook (run 1)", "hook a b", "a replay")] == [None] * 4
