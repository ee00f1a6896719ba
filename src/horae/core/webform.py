"""The part `[web]` of the config, read into a value: where the dashboard and the REST interface are served."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from ipaddress import ip_address
from typing import Any, cast

from horae.errors import Invalid

PORT = 4672  # the keys of HORA on a telephone
PORT_TRIES = 20  # homes of one machine that all say nothing of it get the next free ones
LIBRARIES = ("htmx.js", "pico.css", "uplot.js", "uplot.css", "event-calendar.js", "event-calendar.css")
"""Files of others that pages need: `make browser` fetches them, and packages that are built carry them."""
EXPECTED = {
    "serve": "on or off",
    "host": "an address of this machine such as 127.0.0.1",
    "port": "a whole number from 0 to 65535; 0 is any that is free",
    "hosts": "a list of names by which others reach it, such as horae.example.org",
}


@dataclass(frozen=True, slots=True)
class Web:
    """Where it is served, and under which names."""

    serve: bool = True
    host: str = "127.0.0.1"
    port: int | None = None
    """None: the usual one, or the next that is free."""
    hosts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Options of commands come past `web_of`. Raises Invalid."""
        for name, value in (("host", self.host), ("port", self.port)):
            if value is not None and not _fits(name, value):
                raise Invalid(f"the {name} must be {EXPECTED[name]}, not {value!r}", None, key=f"web.{name}")

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host == "localhost" or ip_address(self.host).is_loopback


def web_of(values: object) -> Web:
    """The table `[web]`. Raises Invalid, which names the key."""
    if not isinstance(values, Mapping):
        raise Invalid("web must be a table with serve, host, port, hosts", None, key="web")
    table = cast("Mapping[str, Any]", values)
    for name, value in table.items():
        if name not in EXPECTED:
            known = [each.name for each in fields(Web)]
            near = get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"known keys are {', '.join(known)}"
            raise Invalid(f"unknown key web.{name}", hint, key=f"web.{name}", expected=known)
        if not _fits(name, value):
            raise Invalid(f"web.{name} must be {EXPECTED[name]}, not {value!r}", None, key=f"web.{name}")
    return Web(
        serve=table.get("serve", "on") == "on",
        host=table.get("host", "127.0.0.1"),
        port=table.get("port"),
        hosts=tuple(name.lower() for name in table.get("hosts", ())),
    )


def _fits(name: str, value: object) -> bool:
    if name == "serve":
        return value in ("on", "off")
    if name == "port":
        return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 65535
    if name == "hosts":
        return isinstance(value, list) and all(isinstance(each, str) and each for each in cast("list[object]", value))
    return _is_address(value)


def _is_address(value: object) -> bool:
    if value == "localhost":
        return True
    try:
        ip_address(str(value))
    except ValueError:
        return False
    return isinstance(value, str)
