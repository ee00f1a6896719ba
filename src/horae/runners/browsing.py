"""Open a link in the person's browser, where there is a desktop."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping

from horae.runners.command import ask

DESKTOPS = ("DISPLAY", "WAYLAND_DISPLAY")


def opener(env: Mapping[str, str], platform: str = sys.platform) -> str | None:
    """The program that does it; None where nobody would see it."""
    if platform == "darwin":
        return "open"
    if not any(env.get(name) for name in DESKTOPS) or env.get("SSH_CONNECTION"):
        return None
    return shutil.which("xdg-open", path=env.get("PATH", os.defpath))


def open_browser(url: str, env: Mapping[str, str]) -> bool:
    """Whether a browser was asked to open it."""
    program = opener(env)
    return program is not None and ask((program, url), env, timeout_s=5.0).ok
