"""The state machines, as tables. Everything that may change state is decided here and nowhere else.

Each table maps (state, event) to the next state. An event that a state does not list is illegal there: the store's
guarded update then touches no row and raises `Stale`. Terminal states list no event, so they are written once.

The SQL CHECKs in `store/migrations/` and the diagrams in `docs/states.md` come from these tables (`make generate`);
tests fail when they differ.

- An *occurrence* is the obligation to account for one slot. It is `planned` before it is due, `claimed` while a run
  carries it out, and ends `settled` with exactly one outcome. Only `release` and `retry` go back: nothing had happened
  yet, or a known failure is tried again.
- A *run* is one attempt. A retry is a new row, so no state of a run ever recurs. One whose machine had no room for its
  process (`refuse`) is released like one that never started, and so is an agent's that goes on later from where it is
  (`park`): it waits for a person's word, or for its provider. It is over with `unknown` too: what
  nobody saw, no program can find out later. Only a person can say how it ended (`vouch`, `condemn`).
- A *delivery* is one message for one address. `unknown` means that it may have arrived; nothing resends it by itself.
  `expired` was tried until its deadline and surely never taken. What a person sends anew is a new delivery.

This module imports nothing, so that the command line starts fast.
"""

from __future__ import annotations

Table = dict[str, dict[str, str]]

OCCURRENCE: Table = {
    "planned": {"claim": "claimed", "settle": "settled"},
    "claimed": {"release": "planned", "retry": "planned", "settle": "settled"},
    "settled": {},
}

RUN: Table = {
    "claimed": {
        "start": "running",
        "block": "blocked",
        "release": "released",
        "refuse": "released",
        "call_off": "cancelled",
    },
    "running": {
        "complete": "completed",
        "fail": "failed",
        "cancel": "cancelled",
        "lose": "unknown",
        "refuse": "released",
        "park": "released",
    },
    "completed": {},
    "failed": {},
    "cancelled": {},
    "unknown": {"vouch": "completed", "condemn": "failed"},
    "blocked": {},
    "released": {},
}

DELIVERY: Table = {
    "pending": {
        "send": "sending",
        "refuse": "failed",
        "suppress": "suppressed",
        "expire": "expired",
        "lose": "unknown",
    },
    "sending": {
        "accept": "delivered",
        "refuse": "failed",
        "retry": "pending",
        "lose": "unknown",
        "expire": "expired",
    },
    "delivered": {},
    "failed": {},
    "unknown": {},
    "suppressed": {},
    "expired": {},
}

OPEN = ("claimed", "running")  # a run in one of these has an owner, who will end it
OUTCOMES = ("ran", "skipped", "missed", "blocked", "void")
TRIGGERS = ("schedule", "manual")
HELD = "gone"  # the signature of a file that vanished and whose job waits for a person
EXCEPTIONS = ("skip", "move")  # what a person decided in advance about one slot

TABLES = {"occurrence": OCCURRENCE, "run": RUN, "delivery": DELIVERY}


def advance(table: Table, state: str, event: str) -> str | None:
    """The next state, or None when the event is illegal in this state."""
    return table[state].get(event)


def sources(table: Table, event: str) -> tuple[str, ...]:
    """The states in which an event is legal: what a guarded update names in its WHERE."""
    return tuple(state for state, events in table.items() if event in events)


def target(table: Table, event: str) -> str:
    """The state that an event leads to. Every event of a table leads to one state only."""
    (found,) = {events[event] for events in table.values() if event in events}
    return found


def terminal(table: Table) -> tuple[str, ...]:
    """The states that are written once."""
    return tuple(state for state, events in table.items() if not events)


def live(table: Table) -> tuple[str, ...]:
    """The states that still expect an event."""
    return tuple(state for state, events in table.items() if events)
