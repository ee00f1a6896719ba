"""Trends: how runs went over days, as charts, and as tables that say the same in words and numbers.

The sums come with the page as data; its script draws them. Without scripts the tables are there.
"""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse
from starlette.requests import Request

from horae.app.gate import Gate
from horae.core.access import Who
from horae.core.trend import WORDS
from horae.web.caller import Caller, GateOf
from horae.web.pages.render import render
from horae.web.pages.words import milliseconds, short_number, symbol, usd

Json = dict[str, Any]
router = APIRouter(include_in_schema=False)
PERIODS = (7, 30, 90, 365)
JOBS_MAX = 500
Days = Annotated[int, Query(ge=1, le=366)]
Job = Annotated[str, Query(max_length=200)]


@router.get("/trends")
def trends(request: Request, who: Caller, gate: GateOf, days: Days = 30, job: Job = "") -> HTMLResponse:
    """The page."""
    jobs = gate.do(who, "jobs", all=True, limit=JOBS_MAX)["jobs"]
    return render(request, "trends.html", jobs=jobs, **_shown(gate, who, days, job))


@router.get("/trends/part")
def part(request: Request, who: Caller, gate: GateOf, days: Days = 30, job: Job = "") -> HTMLResponse:
    """All that changes on it."""
    return render(request, "trends_all.html", **_shown(gate, who, days, job))


def _shown(gate: Gate, who: Who, days: int, job: str) -> Json:
    found = gate.do(who, "trends", days=days, job=job or None)
    words = [word for word in WORDS if found["total"]["outcomes"][word]]
    return {
        "trend": found,
        "words": words,
        "days": days,
        "asked": job,
        "periods": {period: urlencode({"days": period, **({"job": job} if job else {})}) for period in PERIODS},
        "query": urlencode({"days": days, **({"job": job} if job else {})}),
        "cards": _cards(found),
        "data": {
            "days": [day["day"] for day in found["by_day"]],
            "words": [
                {"word": word, "sign": symbol(word), "values": [day["outcomes"][word] for day in found["by_day"]]}
                for word in words
            ],
            **{
                name: [day[name] for day in found["by_day"]]
                for name in (
                    "duration_p50_s",
                    "duration_p95_s",
                    "lateness_p50_ms",
                    "lateness_p99_ms",
                    "cost_usd",
                    "tokens",
                )
            },
        },
    }


def _cards(found: Json) -> list[Json]:
    """The totals: a word, a value, what has changed, and whether that is for the better."""
    total: Json = found["total"]
    change: dict[str, float | None] = found["change"] or {}
    share = total["good_share"]
    p50, p95 = total["duration_p50_s"], total["duration_p95_s"]
    shown = (
        ("count", "Runs and slots", f"{total['count']:,}", None),
        ("good_share", "Ended well", "–" if share is None else f"{share:.1%}", "of those that ended well or badly"),
        ("duration_p50_s", "Duration", milliseconds(None if p50 is None else p50 * 1000), "half of them took less"),
        ("duration_p95_s", "Duration, p95", milliseconds(None if p95 is None else p95 * 1000), "19 of 20 took less"),
        ("lateness_p99_ms", "Lateness, p99", milliseconds(total["lateness_p99_ms"]), "99 of 100 began sooner"),
        ("cost_usd", "Cost", usd(total["cost_usd"]), f"{short_number(total['tokens'])} tokens"),
    )
    cards: list[Json] = []
    for name, word, value, note in shown:
        by = change.get(name)
        points = name == "good_share"
        told = None if by is None else f"{by * 100:+.1f} points" if points else f"{by:+.0%}"
        look = "" if by is None or abs(by) < 0.005 or name == "count" else "good" if (by > 0) == points else "bad"
        cards.append({"word": word, "value": value, "note": note, "change": told, "look": look})
    return cards
