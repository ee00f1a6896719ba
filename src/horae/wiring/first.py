"""The first minute of a new home.

Its examples get their zone, and the heartbeat an anchor a few seconds ahead, so that a newcomer sees work being done at once.
"""

from __future__ import annotations

from datetime import timedelta

from horae.app.jobs import edit_job
from horae.ports import Home

SOON = timedelta(seconds=6)


def prepare_examples(home: Home) -> None:
    """Finish the example jobs of a fresh home."""
    zone = home.settings.timezone
    anchor = (home.clock.now() + SOON).replace(microsecond=0)
    edit_job(home, job="watchdog", changes={"timezone": zone})
    edit_job(home, job="heartbeat", changes={"timezone": zone, "schedule": f"every 1 minute from {anchor.isoformat()}"})
