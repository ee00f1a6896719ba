"""Statements for many rows at once: which forms are taken apart, what becomes of them, and how arrays are written."""

from __future__ import annotations

import importlib
import pkgutil
import re
from typing import Any

import pytest

from horae import store
from horae.store.postgresbulk import array, bulk, counted, distinct

BURSTS = {"PLAN", "CLAIM", "RUN", "CURSOR", "START", "FINISH", "OUTPUT", "SETTLE", "INSERT"}


def over(sql: str) -> str:
    found = bulk(sql)
    assert found is not None
    return " ".join(found.over([f"t{n}" for n in range(found.counted)]).split())


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        (
            "INSERT INTO run (id, token, state) VALUES (?, ?, 'claimed')",
            (
                "INSERT INTO run (id, token, state) SELECT u.p0, u.p1, 'claimed' FROM unnest(?::t0[], ?::t1[]) AS u (p0, p1)"
                " WHERE true"
            ),
        ),
        (
            "INSERT INTO zone_data (id, version) VALUES (?, coalesce(?, '?')) ON CONFLICT (id) DO NOTHING",
            (
                "INSERT INTO zone_data (id, version) SELECT u.p0, coalesce(u.p1, '?') FROM unnest(?::t0[], ?::t1[]) AS u"
                " (p0, p1) WHERE true ON CONFLICT (id) DO NOTHING"
            ),
        ),
        (
            "UPDATE run SET state = ?, n = n + 1 WHERE id = ? AND token = ?",
            (
                "UPDATE run SET state = u.p0, n = n + 1 FROM unnest(?::t0[], ?::t1[], ?::t2[]) AS u (p0, p1, p2)"
                " WHERE id = u.p1 AND token = u.p2"
            ),
        ),
        (
            "UPDATE run SET r = (SELECT x FROM y WHERE z = ?) WHERE key = ?",
            (
                "UPDATE run SET r = (SELECT x FROM y WHERE z = u.p0) FROM unnest(?::t0[], ?::t1[]) AS u (p0, p1)"
                " WHERE key = u.p1"
            ),
        ),
    ],
)
def test_a_statement_for_one_row_becomes_one_for_arrays(sql: str, wanted: str) -> None:
    assert over(sql) == wanted


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM run WHERE id = ?",
        "UPDATE run SET state = ?",
        "UPDATE run SET state = ? WHERE token > ?",  # nothing says that it meets one row
        "INSERT INTO run SELECT ?, ?",
        "SELECT ?",
    ],
)
def test_another_form_is_left_as_it_is(sql: str) -> None:
    assert bulk(sql) is None


def constants() -> dict[str, str]:
    """All statements of the store that write one row and have a name of their own."""
    found: dict[str, str] = {}
    for info in pkgutil.iter_modules(store.__path__, "horae.store."):
        for name, value in vars(importlib.import_module(info.name)).items():
            if name.isupper() and isinstance(value, str) and re.match(r"\s*(INSERT INTO|UPDATE) \w+ ", value):
                found[f"{info.name}.{name}"] = value
    return found


def test_what_comes_in_bursts_has_that_form() -> None:
    found = constants()
    forms = {name: bulk(sql) for name, sql in found.items()}
    assert {name.rpartition(".")[2] for name, form in forms.items() if form} >= BURSTS
    for name, form in forms.items():
        if form is not None:
            assert form.counted == found[name].count("?"), name
            assert bool(form.keys) == found[name].lstrip().startswith("UPDATE"), name


def test_the_place_of_a_key_is_its_place_among_the_values() -> None:
    found = bulk("UPDATE run SET a = ?, b = coalesce(?, b) WHERE token = ? AND id = ? AND state = '?'")
    assert found is not None
    assert found.keys == (3,)
    assert distinct([(0, 0, 7, "r1"), (0, 0, 7, "r2")], found.keys)
    assert not distinct([(0, 0, 7, "r1"), (1, 1, 8, "r1")], found.keys)


def test_marks_are_counted_as_the_server_does() -> None:
    assert counted("UPDATE run SET a = ?, b = '?' WHERE id = ?") == "UPDATE run SET a = $1, b = '?' WHERE id = $2"


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([1, -2, 2**62], "{1,-2,4611686018427387904}"),
        ([True, False, 3], "{1,0,3}"),
        ([1, None], "{1,NULL}"),
        (["a", "b c", ""], '{"a","b c",""}'),
        (["NULL", "{", ","], '{"NULL","{",","}'),
        (['say "a\\b"', "x"], '{"say \\"a\\\\b\\"","x"}'),
        ([None, 'q"', 5], '{NULL,"q\\"",5}'),
        (["a\0b", "c"], '{"a\0b","c"}'),
        ([0.5, None], '{"0.5",NULL}'),
        ([None], "{NULL}"),
    ],
)
def test_an_array_as_the_server_reads_it(values: list[Any], wanted: str) -> None:
    assert array(values) == wanted
