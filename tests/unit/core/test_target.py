"""Targets: what each form means, what is said of those that mean nothing, and laws over all texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.core.delivery import Address, Platform
from horae.core.preflight import Facts, preflight
from horae.core.target import (
    Directory,
    address_of,
    home_of,
    name_problem,
    resolve,
    resolve_all,
)
from horae.errors import Invalid
from horae.limits import TARGET_CHARS_MAX
from tests.support.builders import a_job

PLATFORMS = {
    "telegram": Platform("telegram", "apprise", home="-100777:12", threads=True),
    "mail": Platform("mail", "mail", home="anna@example.org"),
    "desktop": Platform("desktop", "desktop", alone=True),
    "matrix": Platform("matrix", "apprise"),
}
NAMES = {
    "ops": ("telegram:5", "mail"),
    "boss": ("mail:boss@example.org",),
    "night watch": ("ops", "boss", "telegram:5"),
    "discord:#room": ("matrix:!x:example.org",),
    "Team": ("desktop",),
    "here": ("origin",),
}
HOME = Directory(PLATFORMS, NAMES)
LOCAL = Address("local")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("local", [LOCAL]),
        (" local ", [LOCAL]),
        ("origin", [LOCAL]),
        ("all", [Address("telegram", "-100777", "12"), Address("mail", "anna@example.org")]),
        ("telegram", [Address("telegram", "-100777", "12")]),
        ("telegram:5", [Address("telegram", "5")]),
        ("telegram: 5 : 7 ", [Address("telegram", "5", "7")]),
        ("telegram:5:7:8", [Address("telegram", "5", "7:8")]),
        ("matrix:!x:example.org", [Address("matrix", "!x:example.org")]),
        ("mail:a@[IPv6:2001::1]", [Address("mail", "a@[IPv6:2001::1]")]),
        ("desktop", [Address("desktop")]),
        ("desktop:7", [Address("desktop", "7")]),
        ("ops", [Address("telegram", "5"), Address("mail", "anna@example.org")]),
        ("discord:#room", [Address("matrix", "!x:example.org")]),
        ("Discord:#Room", [Address("matrix", "!x:example.org")]),
        ("team", [Address("desktop")]),
        (
            "night watch",
            [Address("telegram", "5"), Address("mail", "anna@example.org"), Address("mail", "boss@example.org")],
        ),
        ("here", [LOCAL]),
    ],
)
def test_what_a_target_means(text: str, found: list[Address]) -> None:
    assert list(resolve(text, HOME)) == found


def test_U4_origin_is_where_the_job_was_asked_for_from() -> None:
    assert resolve("origin", HOME, "telegram:9:3") == (Address("telegram", "9", "3"),)
    assert resolve("here", HOME, "ops") == resolve("ops", HOME)
    for own in ("origin", "here"):
        with pytest.raises(Invalid, match="stands for itself"):
            resolve("origin", HOME, own)


def test_what_means_the_same_is_there_once_as_it_was_said_first() -> None:
    found = resolve_all(["boss", "night watch", "telegram", "all", "telegram:-100777:12"], HOME)
    assert [(shown, str(address)) for shown, address in found] == [
        ("boss", "mail:boss@example.org"),
        ("telegram:5", "telegram:5"),
        ("mail", "mail:anna@example.org"),
        ("telegram", "telegram:-100777:12"),
    ]
    assert [shown for shown, _ in resolve_all(["all"], HOME)] == ["telegram:-100777:12", "mail:anna@example.org"]
    assert [shown for shown, _ in resolve_all(["Team", "here"], HOME)] == ["Team", "here"]


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("telegrm", "no such target: telegrm", "did you mean telegram?"),
        ("telegrm:5:7", "no such target: telegrm:5:7", "did you mean telegram:5:7?"),
        ("opps", "no such target: opps", "did you mean ops?"),
        ("Local", "no such target: Local", "did you mean local?"),
        ("slack", "no such target: slack", "there are local, origin, all, telegram"),
        ("matrix", "matrix has no home chat", "write matrix:CHAT, or give it one"),
        ("local:1", "local has no chats", "write local"),
        ("telegram:", "has an empty part", "telegram:CHAT or telegram:CHAT:THREAD"),
        ("telegram:5:", "has an empty part", "telegram:CHAT"),
        ("telegram::5", "has an empty part", "telegram:CHAT"),
        ("mail::x", "has an empty part", "write mail:CHAT"),
        ("", "a target is empty", "write local"),
        ("a,b", "a,b is more than one target", "each by itself"),
        ("telegram:5\u202e", "hidden or control", "by hand"),
        ("telegram:\x1b[2J", "hidden or control", "by hand"),
        ("telegram:a\nb", "hidden or control", "by hand"),
        ("x" * (TARGET_CHARS_MAX + 1), "longer than 400 characters", "friendly name"),
    ],
)
def test_what_means_nothing_is_told(text: str, said: str, hint: str) -> None:
    with pytest.raises(Invalid) as caught:
        resolve(text, HOME)
    assert said in caught.value.message
    assert hint in str(caught.value.hint)


@pytest.mark.parametrize(
    "text",
    [
        "https://hunter2,mail",
        "https://anna:hunter2@example.org/hunter2",
        "tgram://hunter2/5",
        "telegram:https://hunter2",
        "x tgram://hunter2",
    ],
)
def test_a_url_is_refused_and_its_secrets_are_not_shown(text: str) -> None:
    with pytest.raises(Invalid) as caught:
        resolve(text, HOME)
    assert "URL" in caught.value.message or "is more than one target" in caught.value.message
    assert "hunter2" not in str(caught.value.as_json())


def test_all_needs_a_home_chat() -> None:
    with pytest.raises(Invalid, match="none has one"):
        resolve("all", Directory({"desktop": PLATFORMS["desktop"]}))


def test_names_that_differ_by_capitals_only_are_told_apart_by_them() -> None:
    both = Directory(PLATFORMS, {"Ops": ("desktop",), "ops": ("mail",)})
    assert resolve("ops", both) == resolve("mail", both)
    with pytest.raises(Invalid, match="OPS may be Ops or ops"):
        resolve("OPS", both)


def test_names_in_a_circle_or_a_long_chain_are_refused() -> None:
    circle = Directory(PLATFORMS, {"a": ("mail", "b"), "b": ("c",), "c": ("a",)})
    with pytest.raises(Invalid, match="a stands for itself: a → b → c → a"):
        resolve("a", circle)
    chain = Directory(PLATFORMS, {f"n{at}": (f"n{at + 1}",) for at in range(3000)})
    with pytest.raises(Invalid, match="more than 20 names"):
        resolve("n0", chain)


def test_lists_of_lists_are_followed_once() -> None:
    """Each stands for the next one twice: followed one by one that would be 2**18 steps, and more with each level."""
    tower = {f"n{at}": (f"n{at + 1}", f"N{at + 1}") for at in range(18)}
    tower |= {f"N{at}": (f"n{at + 1}", f"N{at + 1}") for at in range(1, 18)}
    tower |= {"n18": ("mail",), "N18": ("mail",)}
    assert resolve("n0", Directory(PLATFORMS, tower)) == resolve("mail", HOME)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "is empty"),
        (" ops", "blanks at its ends"),
        ("a,b", "a comma"),
        ("a\tb", "hidden or control"),
        ("x" * (TARGET_CHARS_MAX + 1), "longer than"),
        ("All", "a meaning of its own"),
        ("Telegram", "[platforms.telegram] is called already"),
        ("telegram:-100777:12", "[platforms.telegram] is called already"),
    ],
)
def test_what_nothing_may_be_called(name: str, said: str) -> None:
    assert said in str(name_problem(name, PLATFORMS))
    assert name_problem("discord:#room", PLATFORMS) is None


def test_a_name_hides_the_chat_that_is_called_like_it_however_it_is_written() -> None:
    hidden = Directory(PLATFORMS, {"mail:a": ("desktop",), "b": ("mail: a",)})
    for text in ("mail:a", "mail: a", "MAIL:A", "b"):
        assert resolve(text, hidden) == (Address("desktop"),)
    with pytest.raises(Invalid, match="stands for itself"):
        resolve("mail:a", Directory(PLATFORMS, {"mail:a": ("mail: a",)}))


def test_an_address_is_found_by_its_text() -> None:
    shadowed = Directory(PLATFORMS, {"mail:a": ("desktop",)})
    assert address_of("mail:a", shadowed) == Address("mail", "a")
    assert address_of("local", shadowed) == LOCAL
    both = Platform("both", "webhook", home="5", alone=True)
    assert resolve("both", Directory({"both": both})) == (Address("both", "5"),)
    assert address_of("both", Directory({"both": both})) == Address("both")
    with pytest.raises(Invalid):
        address_of("ops", HOME)


# --- laws

PARTS = st.sampled_from(["telegram", "mail", "desktop", "matrix", "local", "origin", "all", "ops", ":", "::", " ", "5"])
TEXTS = st.one_of(
    st.lists(st.one_of(PARTS, st.text(max_size=4)), max_size=6).map("".join),
    st.text(max_size=20).map("telegram:{}".format),
    st.text(max_size=20).map("mail:{}".format),
)


@given(TEXTS, st.none() | TEXTS)
def test_any_text_has_a_meaning_or_is_invalid(text: str, origin: str | None) -> None:
    try:
        found = resolve(text, HOME, origin)
    except Invalid:
        return
    assert found
    assert len(set(found)) == len(found)
    for address in found:
        assert resolve(str(address), HOME) == (address,) == (address_of(str(address), HOME),)


@given(st.lists(TEXTS, max_size=5))
def test_several_are_the_union_of_each(texts: list[str]) -> None:
    try:
        each = [address for text in texts for address in resolve(text, HOME)]
    except Invalid:
        return
    pairs = resolve_all(texts, HOME)
    assert [address for _, address in pairs] == list(dict.fromkeys(each))
    assert all(resolve(shown, HOME) == (address,) for shown, address in pairs)


@given(st.dictionaries(TEXTS, st.lists(TEXTS, min_size=1, max_size=3).map(tuple), max_size=6), TEXTS)
def test_any_directory_leads_somewhere_or_is_invalid(names: dict[str, tuple[str, ...]], text: str) -> None:
    allowed = {name: members for name, members in names.items() if name_problem(name, PLATFORMS) is None}
    for name in [*allowed, text]:
        directory = Directory(PLATFORMS, allowed)
        try:
            found = resolve(name, directory)
        except Invalid:
            continue
        for address in found:
            assert address_of(str(address), directory) == address
            assert resolve(str(address), directory) == (address,)


@given(st.text(max_size=20), st.booleans())
def test_a_home_chat_is_an_address_or_invalid(home: str, threads: bool) -> None:
    platform = Platform("p", "apprise", home=home, threads=threads)
    try:
        found = home_of(platform)
    except Invalid:
        return
    assert found is not None
    assert resolve("p", Directory({"p": platform})) == (found,) == resolve("all", Directory({"p": platform}))


def test_no_password_of_a_url_comes_through_preflight() -> None:
    """A job file that somebody wrote by hand may hold one as its target."""
    job = a_job(deliver=("https://ada:hunter2@example.org/x",), alerts=("tgram://hunter2/1",))
    reasons = preflight(job, Facts(), lambda target: "no such target")
    assert reasons == ("target https://…: no such target", "target of alerts tgram://…: no such target")
