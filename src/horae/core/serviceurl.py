"""Addresses of services in the settings: of providers, of servers of tools. Pure.

What goes there carries a key, so it is https; plain http is for this machine and its own network. The address holds no
password, since it is shown: keys are secrets with a name. No error shows more of it than its host.
"""

from __future__ import annotations

import re
from ipaddress import ip_address

from horae.core.reach import why_not
from horae.core.settingvalues import text, wrong

URL_CHARS_MAX = 2000
_URL = re.compile(
    r"(?P<scheme>https?)://(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[^\s/?#@:\[\]\\]+))(?P<port>:[0-9]{1,5})?"
    r"(?P<path>/[^\s?#]*)?(?P<query>\?[^\s#]*)?(?P<rest>#.*)?",
    re.IGNORECASE,
)
_OWN = (".localhost", ".local", ".internal", ".lan", ".home.arpa")


def service_url(key: str, value: object, *, query: bool = False) -> str:
    """The address, without a slash at its end. Raises Invalid with `key`."""
    given = text(key, value, "the URL of a service, in quotes")
    if len(given) > URL_CHARS_MAX or not given.isprintable():
        raise wrong(key, "is no URL of http or https", "write it as https://api.example.org/v1")
    if re.match(r"[a-z]+://[^/?#]*@", given, re.IGNORECASE):
        raise wrong(key, "holds a name or a password", "keep the key as a secret: `horae secrets set NAME`")
    found = _URL.fullmatch(given)
    if found is None:
        raise wrong(key, "is no URL of http or https", "write it as https://api.example.org/v1")
    if found["port"] and not 0 < int(found["port"][1:]) < 65536:
        raise wrong(key, "has a port that does not exist", "ports go from 1 to 65535")
    if found["rest"] is not None or (found["query"] is not None and not query):
        raise wrong(key, "has more behind its path", "leave out ? and # and what follows: an address is needed")
    host = (found["six"] or found["host"]).lower()
    if found["scheme"].lower() == "http" and not is_own(host):
        says = f"is plain http to {host[:80]}: the key and all text could be read on the way"
        raise wrong(key, says, "write https://; http is for this machine and its own network")
    return given.rstrip("/")


def is_own(host: str) -> bool:
    """Whether a host is this machine, or in its own network as far as its name tells."""
    try:
        address = ip_address(host)
    except ValueError:
        name = host.rstrip(".")
        return ("." not in name and not name.isdigit()) or name.endswith(_OWN)
    return not address.is_multicast and why_not(address) is not None
