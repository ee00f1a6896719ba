"""A grammar of a few words: what fits, what it says, what was expected."""

from __future__ import annotations

import pytest

from horae.errors import Invalid
from horae.timing.phrases.grammar import (
    Leaf,
    Name,
    Part,
    Placed,
    Refused,
    Rule,
    Words,
    choice,
    expected,
    many,
    match,
    optional,
    reading,
    sequence,
)

FRUIT = Name("a fruit", {"apple": 1, "apples": 1, "plum": 2})
COUNT = Leaf("a number", "[0-9]{1,2}", ["3"], int)
AND = choice(sequence(",", optional("and")), "and")
BASKET = Rule(
    "basket",
    sequence("buy", many(reading(sequence(optional(COUNT), FRUIT), lambda count, fruit: (count or 1, fruit)), AND)),
    sorted,
)


def value(part: Part, text: str) -> object:
    found = match(part, text)
    assert found is not None
    return part.value(*found)


def test_a_text_that_fits_has_the_value_of_its_parts() -> None:
    assert value(BASKET, "buy 3 apples, plum and 2 plum") == [(1, 2), (2, 2), (3, 1)]
    assert value(sequence("a", COUNT, optional("b")), "a 7") == 7
    assert value(sequence(COUNT, "to", COUNT), "1 to 2") == (1, 2)
    assert value(optional(COUNT), "5") == 5


@pytest.mark.parametrize(
    "text", ["", "buy", "buy apple and", "buy apple apple", "apple", "buy 300 apples", "buy, apple"]
)
def test_all_of_it_must_fit(text: str) -> None:
    assert match(BASKET, text) is None


def test_no_alternative_hides_a_later_one() -> None:
    short_first = sequence(choice("red", "red apple"), "pie")
    assert match(short_first, "red apple pie") is not None
    greedy = sequence(many(Words("a")), "a")
    assert match(greedy, "a a a") is not None


def test_the_first_of_two_readings_is_taken() -> None:
    two = choice(reading(Words("a"), lambda _: "first"), reading(Words("a"), lambda _: "second"))
    assert value(two, "a") == "first"


def refuse(place: object) -> None:
    raise Invalid(f"which {place}?")


def test_what_is_refused_has_a_shape_and_is_not_expected() -> None:
    part = choice(sequence("one", FRUIT), Refused("", FRUIT, refuse))
    with pytest.raises(Invalid, match="which 2"):
        value(part, "plum")
    assert expected(part, "pear") == ("", "pear", ["`one`"])


@pytest.mark.parametrize(
    ("text", "read", "token", "could"),
    [
        ("sell apple", "", "sell", ["`buy`"]),
        ("buy pear", "buy", "pear", ["a number", "a fruit"]),
        ("buy apple pear", "buy apple", "pear", ["`,`", "`and`"]),
        ("buy 2", "buy 2", "", ["a fruit"]),
    ],
)
def test_what_was_expected_where(text: str, read: str, token: str, could: list[str]) -> None:
    assert expected(BASKET, text) == (read, token, could)


def test_a_place_is_where_it_stands_in_the_source() -> None:
    place = value(sequence("buy", Placed(sequence(COUNT, FRUIT))), "buy 3 apples")
    assert place == ((3, 1), 4, "3 apples")


def test_work_grows_with_the_square_of_the_length_at_most() -> None:
    nested = Rule("outer", many(Rule("inner", many(Rule("word", Words("a")), Words("and"))), Words("and")))
    few, twice = (match(nested, " and ".join(["a"] * length)) for length in (20, 40))
    assert few is not None
    assert twice is not None
    assert twice[1].steps <= 4.5 * few[1].steps
