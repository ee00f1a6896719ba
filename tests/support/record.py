"""What a simulated life left behind, read once: the rows, and from the journal who owned which run at which time."""

from __future__ import annotations

import json
from collections import defaultdict
from sqlite3 import Row
from typing import Any, NamedTuple

from tests.support.world import Effect, Life, Told, World

GONE = "its process is gone"
PEOPLE = "people"
BY_ANYBODY = (
    "ordered",
    "cancel_asked",
    "resolved",
    "void",
    "ran",
    "approved",
    "denied",
)  # about a run, written by whoever says so


class Takeover(NamedTuple):
    """A gateway took all that another owned."""

    seq: int
    at_s: float
    of: str
    by: str
    proven: bool


class Record:
    """Rows by what they are asked for, and the ownership of runs, replayed from the journal."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.jobs = {row["id"]: row for row in world.rows("SELECT * FROM job")}
        self.occurrences = world.rows("SELECT * FROM occurrence ORDER BY slot_at")
        self.by_key = {row["key"]: row for row in self.occurrences}
        self.runs = world.rows("SELECT * FROM run ORDER BY key, attempt")
        self.run = {row["id"]: row for row in self.runs}
        self.attempts: dict[str, list[Row]] = defaultdict(list)
        for row in self.runs:
            self.attempts[row["key"]].append(row)
        self.deliveries: dict[str, list[Row]] = defaultdict(list)
        for row in world.rows("SELECT * FROM delivery"):
            self.deliveries[row["run_id"]].append(row)
        self.asked: dict[str, list[Row]] = defaultdict(list)
        """Of runs that wait for a person's word: the question."""
        for row in world.rows("SELECT * FROM ask WHERE kind = 'call'"):
            self.asked[row["run_id"]].append(row)
        self.journal = world.rows("SELECT * FROM journal ORDER BY seq")
        self.later = {row["run_id"]: row["what"] for row in self.journal if row["what"] in ("parked", "held")}
        """Runs that were given back to go on later: `parked` or `held`."""
        self.lives = {life.name: life for life in world.lives}
        self.takeovers: list[Takeover] = []
        self.takeovers_of: dict[str, list[Takeover]] = defaultdict(list)
        """run id → when it was taken over."""
        self.owners: dict[str, list[str]] = defaultdict(list)
        """run id → who has owned it, in that order."""
        self.starter: dict[str, str] = {}
        self.strangers: list[str] = []
        """Writes about a run by somebody who did not own it then."""
        self._replay()

    def _replay(self) -> None:
        owner: dict[str, str] = {}
        owned: dict[str, set[str]] = defaultdict(set)
        for told in sorted(self.world.told, key=lambda told: told.entry.seq):
            entry = told.entry
            if entry.what == "gateway_lost":
                self._take_over(told, owner, owned)
            elif entry.run_id is None or entry.what in BY_ANYBODY or entry.detail.get("target"):
                continue  # a message is whoever's that sends it
            elif entry.what == "cancelled" and told.by == PEOPLE:
                continue  # what was begun and waits is nobody's
            elif entry.what == "claimed":
                owner[entry.run_id] = told.by
                owned[told.by].add(entry.run_id)
                self.owners[entry.run_id].append(told.by)
            elif owner.get(entry.run_id) != told.by:
                self.strangers.append(f"{entry.what} of {entry.run_id} by {told.by}, owner {owner.get(entry.run_id)}")
            elif entry.what == "started":
                self.starter[entry.run_id] = told.by

    def _take_over(self, told: Told, owner: dict[str, str], owned: dict[str, set[str]]) -> None:
        of, detail = told.entry.detail["gateway"], told.entry.detail
        found = Takeover(told.entry.seq, told.at_s, of, told.by, detail["reason"] == GONE)
        self.takeovers.append(found)
        for run_id in owned.pop(of, set()):
            owner[run_id] = told.by
            owned[told.by].add(run_id)
            self.owners[run_id].append(told.by)
            self.takeovers_of[run_id].append(found)

    # ── questions

    def life(self, name: str) -> Life:
        return self.lives[name]

    def is_stale(self, run_id: str, by: str, at_s: float) -> bool:
        """Whether the run had become somebody else's before."""
        taken = self.takeovers_of[run_id]
        before = [self.owners[run_id][0], *(found.by for found in taken if found.at_s < at_s)]
        return by not in (before[-1], *(found.by for found in taken if found.at_s == at_s))

    def given_up(self, run_id: str, target: str, at_s: float) -> bool:
        """Whether somebody had said before that nobody knows what became of the message."""
        return any(
            told.at_s < at_s and told.entry.what == "unknown" and told.entry.detail.get("target") == target
            for told in self._about(run_id)
        )

    def out_of_sight(self, effect: Effect) -> float | None:
        """Since when the program has gone on although its run was taken over by a gateway that cannot see it."""
        for found in self.takeovers_of[effect.run_id]:
            former, taker = self.life(found.of), self.life(found.by)
            seen = (former.host, former.boot) == (taker.host, taker.boot) and taker.host.name == effect.host
            if not seen and found.at_s < effect.ends_s:
                return found.at_s
        return None

    def hits_of(self, names: list[str]) -> list[tuple[float, float]]:
        """When faults struck these gateways, and until when; for ever where they died of it."""
        found = []
        for hit in self.world.hits:
            if hit.life in names:
                found.append((hit.at_s, float("inf") if self.life(hit.life).dead else hit.until_s))
        return found

    def told_of(self, run_id: str, what: str) -> Told | None:
        """The entry of that kind about a run (not about its deliveries)."""
        for told in self._about(run_id):
            if told.entry.what == what and not told.entry.detail.get("target"):
                return told
        return None

    def _about(self, run_id: str) -> list[Told]:
        if not hasattr(self, "_told"):
            self._told: dict[str, list[Told]] = defaultdict(list)
            for told in self.world.told:
                if told.entry.run_id is not None:
                    self._told[told.entry.run_id].append(told)
        return self._told[run_id]


def detail_of(row: Row) -> dict[str, Any]:
    return json.loads(row["detail"])
