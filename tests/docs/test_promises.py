"""The page of promises agrees with the tests that are named after them."""

from __future__ import annotations

import re
from pathlib import Path

from tools import generate

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| P(\d+) \| \*\*(.+?)\*\*.*? \| (held|partly|not yet) \| (.*?) ?\|$", PAGE, re.MULTILINE)
TESTS = {
    int(number): set(re.findall(r"`([^`]+)`", tests))
    for number, tests in re.findall(r"^\| P(\d+) \| (none|`.*?) \|$", PAGE, re.MULTILINE)
}


def test_every_promise_is_there_once() -> None:
    assert [int(number) for number, *_ in ROWS] == list(range(1, 15))
    assert sorted(TESTS) == list(range(1, 15))


def test_what_is_held_has_tests_and_what_is_not_says_what_is_missing() -> None:
    for number, _, state, missing in ROWS:
        assert state != "held" or TESTS[int(number)], f"P{number} has no test that is named after it"
        assert state == "held" or missing, f"P{number}: say what is missing"


def test_the_tests_of_each_promise_are_those_that_name_it() -> None:
    named = {number: set(tests) for number, tests in generate.promised().items()}
    assert set(named) <= set(range(1, 15)), "a test names a promise that does not exist"
    assert {number: tests for number, tests in TESTS.items() if tests} == named, "`make generate` writes them"


def test_every_named_test_exists() -> None:
    for tests in TESTS.values():
        for test in tests:
            path, _, name = test.partition("::")
            assert name in set(generate.test_names(ROOT / path)), test
