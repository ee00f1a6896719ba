"""What an agent's run asks for: from what its job and the settings say. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, time

from horae.core.agent import AgentSettings
from horae.core.equipment import Allowance, Wish
from horae.core.model import Job
from horae.limits import CONTEXT_AGE_DEFAULT_S, CONTEXT_CHARS_MAX, DAY_SHARE, TOKENS_DEFAULT, TURNS_DEFAULT
from horae.timing.zones import zone


def wish_of(job: Job, agents: AgentSettings, timezone: str, now: datetime) -> Wish:
    """What a run of the job asks for; `timezone` is the home's, where its days begin."""
    limits = job.limits
    own = Allowance(
        limits.turns or agents.turns or TURNS_DEFAULT,
        limits.tokens or agents.tokens or _usual(limits.tokens_day, agents.day.tokens),
        limits.usd or agents.usd,
    )
    return Wish(
        run=own,
        job_day=Allowance(None, limits.tokens_day, limits.usd_day),
        home_day=Allowance(None, agents.day.tokens, agents.day.usd),
        since=day_of(now, timezone),
        context_age_s=CONTEXT_AGE_DEFAULT_S if job.context_age_s is None else job.context_age_s,
        context_chars=CONTEXT_CHARS_MAX,
    )


def _usual(*days: int | None) -> int:
    """Tokens of a run of which nobody has said how many: it must leave something of each day's to others."""
    return min([TOKENS_DEFAULT, *(max(1, int(cap * DAY_SHARE)) for cap in days if cap is not None)])


def day_of(now: datetime, timezone: str) -> datetime:
    """When the day of an instant began, in a zone."""
    place = zone(timezone)
    return datetime.combine(now.astimezone(place).date(), time(), place).astimezone(UTC)
