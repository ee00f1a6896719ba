"""What the web is given by whoever serves it."""

from __future__ import annotations

from dataclasses import dataclass, field

from horae.app.gate import Gate
from horae.core.attempts import Attempts
from horae.web.idle import Idle
from horae.web.mcpdoor import Load


@dataclass(frozen=True, slots=True)
class Given:
    """Found by each route as `request.app.state.given`."""

    gate: Gate
    home: str
    hosts: tuple[str, ...]
    """Names under which it may be asked for, besides those of this machine's own loopback."""
    link: str | None
    """Where people reach it from outside, as the settings say; None: only here."""
    timezone: str
    """Of the home."""
    address: str
    """Where it listens, as a URL."""
    mcp: Load | None = None
    """Loads the server for agents."""
    idle: Idle = field(default_factory=Idle)
    attempts: Attempts = field(default_factory=Attempts)
