"""Who a message is for: from what a job says to addresses, and whether they are to be left in peace. Pure.

A target that cannot be resolved (any more) is an address all the same: whoever is to send there says what is wrong with
it, and that is a delivery that failed, not a result that vanished.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from horae.core.delivery import LOCAL, Address, Addressee, Manner, Receipt
from horae.core.model import Job
from horae.core.quiet import hold
from horae.core.target import shown_target
from horae.errors import Problem
from horae.ports import Hearers, Ports, Settings, Targets


class _About(NamedTuple):
    """What is known of a message before its targets are."""

    job: Job | None
    run_id: str
    targets: Targets
    settings: Settings
    now: datetime
    alert: bool


def addressees(
    job: Job, run_id: str, targets: Targets, settings: Settings, now: datetime, *, alert: bool
) -> tuple[Addressee, ...]:
    """Whom the message of a run is for, each address once."""
    chosen = (job.alerts or settings.alerts.to or job.deliver) if alert else job.deliver
    return _each_once(chosen, _About(job, run_id, targets, settings, now, alert))


def of_end(
    job: Job, run_id: str, targets: Targets, settings: Settings, now: datetime, *, alert: bool
) -> tuple[tuple[Addressee, ...], tuple[Addressee, ...]]:
    """Whom the message of a run's end is for, and who hears of its trouble or that it is over: often the same."""
    to = addressees(job, run_id, targets, settings, now, alert=alert)
    apart = job.alerts or settings.alerts.to or settings.quiet is not None
    if alert or not apart:
        return to, to
    return to, addressees(job, run_id, targets, settings, now, alert=True)


def manner_of(job: Job, settings: Settings) -> Manner:
    """How its messages are seen to."""
    pause_after = settings.alerts.pause_after if job.pause_after is None else job.pause_after
    return Manner(settings.give_up_s, settings.alerts.remind_s, pause_after or None)


def hearers(p: Ports) -> Hearers:
    """Who hears of what no run brings about."""
    now = p.clock.now()

    def alerts(job: Job) -> tuple[tuple[Addressee, ...], Manner]:
        found = addressees(job, "", p.targets, p.settings, now, alert=True)
        return found, manner_of(job, p.settings)

    def fallback() -> tuple[Addressee, ...]:
        name = p.settings.alerts.fallback
        return () if name is None else _each_once((name,), _About(None, "", p.targets, p.settings, now, alert=True))

    return Hearers(alerts, fallback)


def _each_once(chosen: Sequence[str], about: _About) -> tuple[Addressee, ...]:
    if chosen == (LOCAL,):  # most jobs of most homes
        return (_here(LOCAL, about.run_id),)
    origin = None if about.job is None else about.job.origin
    found: dict[str, Addressee] = {}
    for target in chosen:
        try:
            addresses = about.targets.resolve(target, origin)
        except Problem:
            found.setdefault(target, Addressee(shown_target(target), shown_target(target)))
            continue
        for address in addresses:
            name = target if len(addresses) == 1 else str(address)
            found.setdefault(str(address), _one(name, address, about))
    return tuple(found.values())


def _one(name: str, address: Address, about: _About) -> Addressee:
    if address.platform == LOCAL:
        return _here(name, about.run_id)
    quiet = about.settings.quiet if about.targets.platform(address).quiet else None
    until, digest = hold(quiet, "normal" if about.job is None else about.job.urgency, about.alert, about.now)
    return Addressee(name, str(address), hold_until=until, digest=digest)


def _here(name: str, run_id: str) -> Addressee:
    """`local`: the transaction that ends the run is the delivery."""
    return Addressee(name, LOCAL, kept=Receipt("accept", evidence=f"horae log {run_id}"))
