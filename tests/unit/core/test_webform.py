"""`[web]` of the config: what it means, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from horae.core.webform import Web, web_of
from horae.errors import Invalid


def test_nothing_means_loopback_and_the_usual_port() -> None:
    assert web_of({}) == Web(serve=True, host="127.0.0.1", port=None, hosts=())
    assert web_of({}).loopback


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("localhost", True), ("::1", True), ("127.8.8.8", True), ("0.0.0.0", False), ("::", False),
     ("192.168.1.5", False), ("::ffff:10.0.0.1", False)],
)  # fmt: skip
def test_whether_others_reach_it(host: str, loopback: bool) -> None:
    assert web_of({"host": host}).loopback is loopback


def test_all_of_it() -> None:
    made = web_of({"serve": "off", "host": "::1", "port": 0, "hosts": ["Horae.Example.org"]})
    assert made == Web(serve=False, host="::1", port=0, hosts=("horae.example.org",))


@pytest.mark.parametrize(
    ("values", "key"),
    [
        ([], "web"), ("on", "web"), ({"serve": True}, "web.serve"), ({"serve": "yes"}, "web.serve"),
        ({"host": "x.org"}, "web.host"),
        ({"host": 7}, "web.host"), ({"host": ""}, "web.host"), ({"port": -1}, "web.port"), ({"port": 65536}, "web.port"),
        ({"port": True}, "web.port"), ({"port": "80"}, "web.port"), ({"hosts": "x"}, "web.hosts"),
        ({"hosts": [""]}, "web.hosts"),
        ({"hosts": [1]}, "web.hosts"), ({"prot": 1}, "web.prot"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(values: Any, key: str) -> None:
    with pytest.raises(Invalid) as refusal:
        web_of(values)
    assert refusal.value.details["key"] == key


def test_a_key_that_is_mistyped_is_guessed() -> None:
    with pytest.raises(Invalid) as refusal:
        web_of({"prot": 1})
    assert refusal.value.hint == "did you mean port?"


@pytest.mark.parametrize("given", [{"port": 99999}, {"port": -1}, {"host": "x.org"}])
def test_options_of_commands_are_looked_at_too(given: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        Web(**given)
