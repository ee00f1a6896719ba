"""What an installed service is, and the files that say so: a unit of systemd, a property list of launchd. Pure.

A service is the gateway of one home. The unit tells systemd that readiness and life are reported by the gateway itself
(`Type=notify`, `WatchdogSec`), and that a stop ends only the gateway (`KillMode=process`): by default everything in its
control group would be killed, and with it the runs that are meant to survive a restart.

A file that Horae wrote carries a mark. One without it belongs to somebody else, and is never overwritten nor removed.
"""

from __future__ import annotations

import hashlib
import json
import os
import plistlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from xml.parsers.expat import ExpatError

MARK = "Made by `horae service install`; `horae service uninstall` removes it."
ENDED_BY_PEOPLE = "2 3 4"  # exit statuses of a wrong setting: only a person can mend that, so it is not tried again
WATCHDOG_S = 120
START_S = 900  # twenty thousand job files, or a database that is away for a while
STOP_SPARE_S = 30  # above what a stopping gateway waits for its runs
AGAIN_S = 10
KEPT = ("PATH", "LANG", "LC_ALL", "TZ", "HORAE_TIMEZONE", "HORAE_HOST")
PLAIN = re.compile(r"[A-Za-z0-9/_.+:,@-]+")
SLUG_MAX = 24
LABEL = "horae.gateway"


@dataclass(frozen=True, slots=True)
class Service:
    """One home's gateway as a service."""

    home: str
    usual: str
    """The home of somebody who names none: its service has the plain name."""
    python: str
    env: Mapping[str, str]
    """What surrounds the person who installs it: what of it the service needs is written down."""
    drain_s: float
    system: bool = False
    owner: str | None = None
    """Under whose name a system service works; None for root, and for a person's own service."""

    @property
    def name(self) -> str:
        """Of the usual home `horae`, of any other with a name of its own that stays the same."""
        if self.home == self.usual:
            return "horae"
        digest = hashlib.sha256(os.fsencode(self.home)).hexdigest()[:8]
        slug = re.sub("[^a-z0-9]+", "-", os.path.basename(self.home).lower()).strip("-")[:SLUG_MAX].strip("-")
        return f"horae-{digest}" if slug in ("", "horae") else f"horae-{slug}-{digest}"

    @property
    def argv(self) -> tuple[str, ...]:
        """What is started. -P: a service begins in somebody's folder, and modules that lie there are not ours."""
        return (self.python, "-P", "-m", "horae", "--home", self.home, "up")

    @property
    def stop_s(self) -> int:
        """How long a stop may take: longer than the gateway waits for its runs."""
        return round(self.drain_s) + STOP_SPARE_S

    @property
    def kept(self) -> dict[str, str]:
        """The part of the environment that the service needs."""
        return {name: self.env[name] for name in KEPT if self.env.get(name)}


def systemd_unit(service: Service) -> str:
    """The text of the unit."""
    online = "network-online.target time-sync.target"
    lines = [
        f"# {MARK}",
        f"# home: {json.dumps(service.home)}",
        "[Unit]",
        f"Description=Horae, the scheduler of {specified(_line(service.home))}",
        *((f"Wants={online}", f"After={online}") if service.system else ()),
        "StartLimitIntervalSec=0",
        "",
        "[Service]",
        "Type=notify",
        "NotifyAccess=main",
        f"ExecStart={_exec_line(service.argv)}",
        "Restart=on-failure",
        f"RestartSec={AGAIN_S}",
        f"RestartPreventExitStatus={ENDED_BY_PEOPLE}",
        f"WatchdogSec={WATCHDOG_S}",
        f"TimeoutStartSec={START_S}",
        f"TimeoutStopSec={service.stop_s}",
        "# Only the gateway is stopped: its runs have keepers of their own, and go on",
        "KillMode=process",
        "Delegate=yes",
        "OOMPolicy=continue",
        *((f"User={specified(service.owner)}",) if service.owner else ()),
        *(f"Environment={quoted(f'{name}={value}')}" for name, value in service.kept.items()),
        "",
        "[Install]",
        f"WantedBy={'multi-user' if service.system else 'default'}.target",
    ]
    return "\n".join(lines) + "\n"


def _exec_line(argv: tuple[str, ...]) -> str:
    """The words of ExecStart. The first may hold neither quotes nor $, which are not undone there: then `env` starts it."""
    first = () if PLAIN.fullmatch(argv[0]) else ("/usr/bin/env",)
    return " ".join(word if PLAIN.fullmatch(word) else quoted(word).replace("$", "$$") for word in (*first, *argv))


def quoted(text: str) -> str:
    """A word of a unit as systemd reads it: in double quotes, with its escapes, and % for itself."""
    escaped = (
        text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
    )
    return f'"{specified(escaped)}"'


def specified(text: str) -> str:
    """A percent sign that stands for itself."""
    return text.replace("%", "%%")


def _line(text: str) -> str:
    """In one line, and not going on with the next."""
    return re.sub(r"[\x00-\x1f\\]", "?", text)


def systemd_home(text: str) -> str | None:
    """The home that a unit of ours is for; None when Horae did not write it."""
    lines = text.split("\n")
    if not lines[0].startswith(f"# {MARK}") or len(lines) < 2 or not lines[1].startswith("# home: "):
        return None
    try:
        home = json.loads(lines[1].removeprefix("# home: "))
    except ValueError:
        return None
    return home if isinstance(home, str) else None


def systemd_same(one: str, other: str) -> bool:
    """Whether two units differ in nothing but what surrounded who wrote them: another shell has another PATH."""
    first, second = (
        [line for line in text.splitlines() if not line.startswith("Environment=")] for text in (one, other)
    )
    return first == second


def launchd_same(one: str, other: str) -> bool:
    """The same of two property lists."""
    try:
        first, second = (plistlib.loads(text.encode()) for text in (one, other))
    except (ExpatError, ValueError):
        return False
    return {**first, "EnvironmentVariables": None} == {**second, "EnvironmentVariables": None}


def launchd_label(service: Service) -> str:
    """Under which name launchd knows it."""
    return LABEL + service.name.removeprefix("horae").replace("-", ".", 1)


def launchd_plist(service: Service) -> str:
    """The text of the property list. AbandonProcessGroup: launchd would kill the keepers of the runs with the gateway."""
    log = os.path.join(service.home, "state", "service.log")
    values: dict[str, object] = {
        "Label": launchd_label(service),
        "ProgramArguments": list(service.argv),
        "EnvironmentVariables": service.kept,
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": AGAIN_S,
        "ExitTimeOut": service.stop_s,
        "ProcessType": "Standard",
        "AbandonProcessGroup": True,
        "StandardOutPath": log,
        "StandardErrorPath": log,
    }
    head, plist, rest = plistlib.dumps(values, sort_keys=False).decode().partition("<plist")
    return f"{head}<!-- {MARK} -->\n{plist}{rest}"


def launchd_home(text: str) -> str | None:
    """The home that a property list of ours is for; None when Horae did not write it."""
    if f"<!-- {MARK} -->" not in text:
        return None
    try:
        words = plistlib.loads(text.encode())["ProgramArguments"]
        return str(words[words.index("--home") + 1])
    except (ExpatError, ValueError, LookupError, TypeError, AttributeError):
        return None
