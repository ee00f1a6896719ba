"""What `/metrics` shows: how the home stands at this moment, beside what its gateways have counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from horae import __version__
from horae.app.budget import budget_of
from horae.app.status import store_now
from horae.core.tally import OTHER
from horae.ports import Home

Json = dict[str, Any]


def metrics(home: Home, *, tallies: Sequence[Json] = ()) -> Json:
    """`tallies` are what gateways say of themselves; none where none runs."""
    reader = home.read()
    try:
        now_us = store_now(home)
        ids = {row[0] for tally in tallies for row in (*tally["runs"], *tally["slots"])} - {OTHER}
        return {
            "version": __version__,
            "now_us": now_us,
            "gauges": reader.gauges(now_us),
            "budget": budget_of(home, reader),
            "slugs": {job_id: reader.slug_of(job_id) or job_id for job_id in ids},
            "tallies": [*tallies],
        }
    finally:
        reader.close()
