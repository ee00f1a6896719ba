"""From a home and a system to whoever keeps its gateway running: systemd, launchd, or nobody."""

from __future__ import annotations

import os
import pwd
import sys
from functools import partial
from typing import Any

from horae import config
from horae.app.launchd import Launchd
from horae.app.service import Keeper, install, status, uninstall
from horae.app.servicefile import Service
from horae.app.systemd import Systemd
from horae.errors import Refused
from horae.ports import Settings
from horae.ports.command import Ask, Said
from horae.runners.command import ASK_S, ask, with_bus
from horae.settings import load
from horae.wiring import House

ACT_S = 1000.0  # what starts or stops a gateway waits for it: its job files are read, its runs may end
ACTS = ("enable", "restart", "disable", "bootstrap", "bootout")


def keep(house: House, action: str, *, system: bool, dry: bool, platform: str = sys.platform) -> dict[str, Any]:
    """`horae service ACTION`."""
    if platform == "win32":
        raise Refused("Windows is not a system on which Horae runs", "use it in WSL, with systemd switched on there")
    house.exists()
    if action != "status" and not dry:
        house.refuse_runs(f"service {action}")
    settings = load(house.path, config.environment())
    uid = os.getuid()
    user = _name_of(uid)
    if system:
        _only_for_root(uid, platform, dry=dry)
    service = _service(settings, system=system)
    asking = _asking(with_bus(settings.env, uid))
    keeper: Keeper
    if platform == "darwin":
        folder = os.path.expanduser(os.path.join("~", "Library", "LaunchAgents"))
        keeper = Launchd(service, asking, uid=uid, folder=folder)
    else:
        folder = settings.env.get("XDG_CONFIG_HOME") or os.path.expanduser(os.path.join("~", ".config"))
        keeper = Systemd(service, asking, user=user, config_home=folder)
    if action == "status":
        return status(service, keeper)
    if action == "uninstall":
        return uninstall(service, keeper, asking, dry=dry)
    _told_by_files(settings)
    answer = install(service, keeper, asking, None if dry else house.holder, dry=dry)
    lacking = [name for name in settings.pass_env if name not in service.kept]
    if lacking:
        answer["notes"].append(
            f"a service does not have what `pass_env` names ({', '.join(lacking)}): {_how_to_pass(keeper)}"
        )
    return answer


def _how_to_pass(keeper: Keeper) -> str:
    if keeper.manager == "systemd":
        edit = "systemctl edit" if keeper.scope == "system" else "systemctl --user edit"
        return f"`{edit} {keeper.unit}` takes lines such as Environment=NAME=value below [Service]"
    return "`launchctl setenv NAME value` gives it to everything that is started afterwards"


def _service(settings: Settings, *, system: bool) -> Service:
    owner = os.stat(settings.home).st_uid
    return Service(
        home=settings.home,
        usual=config.home_path(os.path.join("~", ".horae")),
        python=sys.executable,
        env=settings.env,
        drain_s=settings.drain_s,
        system=system,
        owner=_name_of(owner) if system and owner != 0 else None,
    )


def _only_for_root(uid: int, platform: str, *, dry: bool) -> None:
    if platform == "darwin":
        raise Refused("on macOS the gateway is a service of a person, not of the machine", "leave --system out")
    if uid != 0 and not dry:
        raise Refused(
            "--system makes a service of the machine, which only root may do", "use sudo, or leave --system out"
        )


def _told_by_files(settings: Settings) -> None:
    """The address of a shared store may hold a password, so it is not written into a unit that others can read."""
    if settings.env.get(config.STORE):
        raise Refused(
            f"the store is named by {config.STORE}, which a service does not have",
            "put `store = …` into config.toml, and install it without that variable",
        )


def _asking(env: dict[str, str]) -> Ask:
    quick, slow = partial(ask, env=env, timeout_s=ASK_S * 5), partial(ask, env=env, timeout_s=ACT_S)

    def asked(argv: Any) -> Said:
        return slow(argv) if set(ACTS) & set(argv) else quick(argv)

    return asked


def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
