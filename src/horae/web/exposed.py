"""What is known of a home, in the words of Prometheus: names, help, kinds and labels of metrics.

`FAMILIES` is all that there is; the page docs/reference/metrics.md has the same rows. Counters and histograms are those of the
gateways' lives, so they begin at nothing when one starts; what is there at this moment is read from the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from horae.core.tally import ENDS, LATE_S, OTHER, SENT, SLOTS, TOOK_S

Json = dict[str, Any]
Family = tuple[str, str, tuple[str, ...], str]  # kind, unit or nothing, labels, help
FAMILIES: Mapping[str, Family] = {
    "horae_up": ("gauge", "", (), "1 where a gateway of this home answers, else 0."),
    "horae_build_info": ("gauge", "", ("version",), "1, with the version of Horae."),
    "horae_lateness_seconds": ("histogram", "seconds", (), "From due to claimed, of each attempt."),
    "horae_run_duration_seconds": ("histogram", "seconds", (), "From the start of a program to its end."),
    "horae_runs_total": ("counter", "", ("job", "state"), "Attempts that have ended, by how."),
    "horae_slots_total": ("counter", "", ("job", "outcome"), "Slots and calls that were accounted for without a run."),
    "horae_retries_total": ("counter", "", (), "Attempts that failed and were planned again."),
    "horae_deliveries_total": ("counter", "", ("state",), "Messages that were sent, by what became of each try."),
    "horae_incidents_opened_total": ("counter", "", (), "Incidents that were opened."),
    "horae_hook_calls_total": ("counter", "", ("hook",), "Calls of hooks that were taken."),
    "horae_hook_minutes_refused_total": ("counter", "", (), "Minutes in which a hook was called too often."),
    "horae_journal_entries_total": ("counter", "", (), "Entries that gateways have journaled."),
    "horae_jobs": ("gauge", "", ("state",), "Jobs, by state."),
    "horae_queue_due": ("gauge", "", (), "Occurrences that are due and have not begun."),
    "horae_queue_oldest_seconds": ("gauge", "seconds", (), "How long the oldest of those has been due."),
    "horae_next_due_timestamp_seconds": ("gauge", "seconds", (), "When the next occurrence comes due."),
    "horae_live_runs": ("gauge", "", (), "Runs that are live."),
    "horae_unknown_runs": ("gauge", "", (), "Runs of which nobody knows how they ended."),
    "horae_deliveries_open": ("gauge", "", ("state",), "Messages that are not at their end."),
    "horae_waiting": ("gauge", "", (), "What waits for a person's word."),
    "horae_incidents_open": ("gauge", "", (), "Incidents that are open."),
    "horae_gateways": ("gauge", "", (), "Gateways whose lease is good."),
    "horae_lease_remaining_seconds": ("gauge", "seconds", (), "How long the lease is good that ends first."),
    "horae_journal_head": ("gauge", "", (), "The number of the newest entry of the journal."),
    "horae_budget_used": ("gauge", "", ("kind",), "What agents have used today, of tokens and US dollars."),
    "horae_budget_reserved": ("gauge", "", ("kind",), "What live runs of agents have put aside."),
    "horae_budget_left": ("gauge", "", ("kind",), "What is left of today's budget; absent without a limit."),
}
JOB_STATES = ("active", "paused", "completed", "quarantined")


def text_of(found: Json) -> bytes:
    """The text form. `found` is what `app/metrics.py` says."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Once(found))
    return generate_latest(registry)


class _Once(Collector):
    def __init__(self, found: Json) -> None:
        self._found = found

    def collect(self) -> Iterable[Metric]:
        values = {**_gauges(self._found), **_counters(self._found)}
        for name, (kind, _, labels, says) in FAMILIES.items():
            if kind == "histogram":
                yield _histogram(name, says, self._found["tallies"])
                continue
            make = CounterMetricFamily if kind == "counter" else GaugeMetricFamily
            family = make(name, says, labels=labels)
            for given, value in values[name]:
                family.add_metric(given, value)
            yield family


Samples = list[tuple[Sequence[str], float]]


def _gauges(found: Json) -> dict[str, Samples]:
    there, now_us = found["gauges"], found["now_us"]
    leases = [(until - now_us) / 1e6 for until in there["gateways"].values()]
    oldest = 0.0 if there["oldest_due"] is None else max(0.0, (now_us - there["oldest_due"]) / 1e6)
    states = {**dict.fromkeys(JOB_STATES, 0), **there["jobs"]}
    open_ones = {"pending": 0, "sending": 0, **there["deliveries"]}
    budget = [(kind, found["budget"][kind]) for kind in ("tokens", "usd")] if found["budget"] else []
    return {
        "horae_up": [((), int(bool(found["tallies"])))],
        "horae_build_info": [((found["version"],), 1)],
        "horae_jobs": [((state,), count) for state, count in states.items()],
        "horae_queue_due": [((), there["due"])],
        "horae_queue_oldest_seconds": [((), oldest)],
        "horae_next_due_timestamp_seconds": [((), there["next_due"] / 1e6)] if there["next_due"] else [],
        "horae_live_runs": [((), there["live"])],
        "horae_unknown_runs": [((), there["unknown"])],
        "horae_deliveries_open": [((state,), count) for state, count in open_ones.items()],
        "horae_waiting": [((), there["asks"])],
        "horae_incidents_open": [((), there["incidents"])],
        "horae_gateways": [((), len(leases))],
        "horae_lease_remaining_seconds": [((), min(leases))] if leases else [],
        "horae_journal_head": [((), there["journal"])],
        "horae_budget_used": [((kind,), one["used"]) for kind, one in budget],
        "horae_budget_reserved": [((kind,), one["reserved"]) for kind, one in budget],
        "horae_budget_left": [((kind,), one["left"]) for kind, one in budget if one["left"] is not None],
    }


def _counters(found: Json) -> dict[str, Samples]:
    tallies, slugs = found["tallies"], {**found["slugs"], OTHER: OTHER}
    return {
        "horae_runs_total": _by_job(tallies, "runs", slugs),
        "horae_slots_total": _by_job(tallies, "slots", slugs),
        "horae_retries_total": _summed(tallies, "retries"),
        "horae_deliveries_total": _by_word(tallies, "sent", SENT),
        "horae_incidents_opened_total": _summed(tallies, "incidents"),
        "horae_hook_calls_total": _by_word(tallies, "calls", ()),
        "horae_hook_minutes_refused_total": _summed(tallies, "calls_refused"),
        "horae_journal_entries_total": _summed(tallies, "entries"),
    }


def _summed(tallies: Sequence[Json], name: str) -> Samples:
    return [((), sum(tally[name] for tally in tallies))]


def _by_job(tallies: Sequence[Json], name: str, slugs: Mapping[str, str]) -> Samples:
    found: dict[tuple[str, str], float] = {}
    for tally in tallies:
        for job_id, word, count in tally[name]:
            key = (slugs.get(job_id, job_id), word)
            found[key] = found.get(key, 0) + count
    for word in sorted(ENDS - {"released"}) if name == "runs" else sorted(SLOTS | {"blocked"}):
        found.setdefault((OTHER, word), 0)  # so that alerts have something to look at before anything has happened
    return [(key, count) for key, count in sorted(found.items())]


def _by_word(tallies: Sequence[Json], name: str, words: Iterable[str]) -> Samples:
    found = dict.fromkeys(sorted(words), 0)
    for tally in tallies:
        for word, count in tally[name].items():
            found[word] = found.get(word, 0) + count
    return [((word,), count) for word, count in found.items()]


def _histogram(name: str, says: str, tallies: Sequence[Json]) -> Metric:
    which, bounds = ("lateness", LATE_S) if "lateness" in name else ("duration", TOOK_S)
    given = [tally[which] for tally in tallies if tally[which]["bounds"] == [*bounds]]
    counts = [sum(one["counts"][place] for one in given) for place in range(len(bounds) + 1)]
    family = HistogramMetricFamily(name, says)
    family.add_metric((), list(_cumulative(bounds, counts)), sum(one["sum"] for one in given))
    return family


def _cumulative(bounds: Sequence[float], counts: Sequence[int]) -> Iterator[tuple[str, float]]:
    total = 0
    for bound, count in zip((*map(str, bounds), "+Inf"), counts, strict=True):
        total += count
        yield bound, total
