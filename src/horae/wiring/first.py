"""The first minute of a new home: the heartbeat is set to begin within seconds, so that a newcomer sees work being done."""

from __future__ import annotations

from datetime import timedelta

from horae.app.jobs import edit_job
from horae.ports import Home

SOON = timedelta(seconds=6)


def start_heartbeat(home: Home) -> None:
    """Anchor the heartbeat of a fresh home a few seconds from now."""
    anchor = (home.clock.now() + SOON).replace(microsecond=0)
    edit_job(home, job="heartbeat", changes={"schedule": f"every 1 minute from {anchor.isoformat()}"})
