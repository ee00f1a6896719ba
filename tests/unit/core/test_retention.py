"""How long things are kept, as the config says it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from horae.core.retention import DAY_S, Retention, retention_of
from horae.errors import Invalid
from tests.support.builders import START


def test_what_is_not_said_has_its_default() -> None:
    assert retention_of({}) == Retention() == Retention(90 * DAY_S, 400 * DAY_S, 400 * DAY_S)
    assert retention_of({"output": "7d"}) == Retention(output=7 * DAY_S)


@pytest.mark.parametrize("forever", ["forever", 0, "99999999d"])
def test_for_ever_is_never_pruned(forever: object) -> None:
    kept = retention_of({"output": forever, "runs": "30d", "journal": forever})
    assert kept == Retention(None, 30 * DAY_S, None)
    assert kept.before("output", START) is None
    assert kept.before("runs", START) == START - timedelta(days=30)


@pytest.mark.parametrize(
    ("values", "key", "says"),
    [
        ({"output": 90}, "retention.output", "must be a duration of at least a day such as 90d, or forever, not 90"),
        ({"output": True}, "retention.output", "not True"),
        ({"output": False}, "retention.output", "not False"),
        ({"output": 0.0}, "retention.output", "not 0.0"),
        ({"runs": "12h"}, "retention.runs", "at least a day"),
        ({"journal": "90"}, "retention.journal", "has no unit"),
        ({"journal": "a while"}, "retention.journal", "cannot read the duration"),
        ({"journal": ["90d"]}, "retention.journal", "must be"),
        ("90d", "retention", "must be a table"),
    ],
)
def test_what_cannot_be_is_refused_with_its_key(values: object, key: str, says: str) -> None:
    with pytest.raises(Invalid, match=says) as refused:
        retention_of(values)
    assert refused.value.details["key"] == key
    assert refused.value.message.startswith(key)


def test_an_unknown_key_names_the_nearest() -> None:
    with pytest.raises(Invalid, match=r"unknown key retention\.outputs") as refused:
        retention_of({"outputs": "90d"})
    assert refused.value.hint == "did you mean output?"
    with pytest.raises(Invalid) as refused:
        retention_of({"x": "90d"})
    assert refused.value.hint == "known keys are output, runs, journal"
