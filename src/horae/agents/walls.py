"""The words before a program that an agent's process starts, so that it comes up behind walls (`runners/shim/behind.py`)."""

from __future__ import annotations

import json

from horae.agents.task import Walls
from horae.runners.shim.behind import PYTHON


def behind(walls: Walls | None) -> list[str]:
    """Empty where there are none."""
    return [] if walls is None else [*PYTHON, json.dumps(walls)]
