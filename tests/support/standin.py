"""Programs of the system as a test wants them: they write down how they were called, and answer, refuse or hang."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

SYSTEM = "/usr/bin:/bin"


@dataclass
class StandIns:
    """A folder of such programs, to be the first on PATH."""

    folder: Path

    @property
    def path(self) -> str:
        return f"{self.folder}:{SYSTEM}"

    @property
    def env(self) -> Mapping[str, str]:
        return {"PATH": self.path}

    def put(self, name: str, body: str = "", *, status: int = 0) -> None:
        """A program that runs the shell text `body` with its arguments, and then ends with `status`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        log = shlex.quote(str(self.folder / "calls"))
        record = f'{{ printf "%s\\037" {shlex.quote(name)} "$@"; echo; }} >>{log}'
        file = self.folder / name
        file.write_text(f"#!/bin/sh\n{record}\n{body}\nexit {status}\n", encoding="utf-8")
        file.chmod(0o755)

    def calls(self, name: str = "") -> list[list[str]]:
        """How they were called until now, each with its name first."""
        log = self.folder / "calls"
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        found = [line.split("\x1f")[:-1] for line in lines]
        return [words for words in found if not name or words[0] == name]

    def forget(self) -> None:
        """Begin a new list."""
        (self.folder / "calls").unlink(missing_ok=True)


def a_systemd(folder: Path, units: Path) -> StandIns:
    """systemctl and loginctl of a manager that remembers what is enabled and what runs.

    In the folder, a file `manager` holds its state, `linger` yes or no, and `fail-VERB` what it says when it refuses.
    """
    made = StandIns(folder)
    made.put("systemctl", SYSTEMCTL.format(d=shlex.quote(str(folder)), units=shlex.quote(str(units))))
    made.put("loginctl", f'echo "Linger=$(cat {shlex.quote(str(folder))}/linger)"')
    (folder / "manager").write_text("running\n")
    (folder / "linger").write_text("yes\n")
    return made


SYSTEMCTL = """
D={d}; U={units}
[ "$1" = --user ] && shift
verb=$1; shift
if [ -f "$D/fail-$verb" ]; then cat "$D/fail-$verb" >&2; exit 1; fi
now=; [ "$1" = --now ] && {{ now=yes; shift; }}
case $verb in
  is-system-running) cat "$D/manager"; [ "$(cat "$D/manager")" = running ]; exit ;;
  daemon-reload) rm -rf "$D/known"; mkdir "$D/known"; cp "$U"/*.service "$D/known" 2>/dev/null; exit 0 ;;
  enable) [ -f "$D/known/$1" ] || {{ echo "Unit $1 does not exist" >&2; exit 1; }}
    : >"$D/enabled-$1"; [ -n "$now" ] && [ ! -f "$D/active-$1" ] && echo 4242 >"$D/active-$1" ;;
  restart) echo 4343 >"$D/active-$1" ;;
  disable) rm -f "$D/enabled-$1"; [ -n "$now" ] && rm -f "$D/active-$1" ;;
  show)
    if [ -f "$D/known/$1" ]; then echo LoadState=loaded; else echo LoadState=not-found; fi
    if [ -f "$D/active-$1" ]; then echo ActiveState=active; echo "MainPID=$(cat "$D/active-$1")"
    else echo ActiveState=inactive; echo MainPID=0; fi
    if [ -f "$D/enabled-$1" ]; then echo UnitFileState=enabled
    elif [ -f "$D/known/$1" ]; then echo UnitFileState=disabled; else echo UnitFileState=; fi
    if [ -f "$D/known/$1" ] && ! cmp -s "$D/known/$1" "$U/$1"; then echo NeedDaemonReload=yes
    else echo NeedDaemonReload=no; fi ;;
esac
exit 0
"""
