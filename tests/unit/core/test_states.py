"""The state tables as such: what `core/states.py` promises about every cell."""

from __future__ import annotations

import pytest

from horae.core import states
from horae.core.states import DELIVERY, OCCURRENCE, OPEN, RUN, TABLES, advance, live, sources, target, terminal

EVENTS = {name: sorted({event for events in table.values() for event in events}) for name, table in TABLES.items()}
CELLS = [(name, state, event) for name, table in TABLES.items() for state in table for event in EVENTS[name]]


@pytest.mark.parametrize(("name", "state", "event"), CELLS)
def test_each_cell_is_a_state_of_the_table_or_illegal(name: str, state: str, event: str) -> None:
    table = TABLES[name]
    to = advance(table, state, event)
    assert to is None or to in table
    assert (state in sources(table, event)) == (to is not None)
    if to is not None:
        assert target(table, event) == to, "an event leads to one state only"


@pytest.mark.parametrize("name", TABLES)
def test_terminal_states_absorb_and_the_others_do_not(name: str) -> None:
    table = TABLES[name]
    assert set(terminal(table)) | set(live(table)) == set(table)
    assert not set(terminal(table)) & set(live(table))
    for state in terminal(table):
        assert all(advance(table, state, event) is None for event in EVENTS[name])


@pytest.mark.parametrize("name", TABLES)
def test_every_state_can_be_reached_and_left_for_an_end(name: str) -> None:
    table = TABLES[name]
    reached, ends = {next(iter(table))}, set(terminal(table))
    for _ in table:
        reached |= {to for state in reached for to in table[state].values()}
        ends |= {state for state in table if set(table[state].values()) & ends}
    assert reached == set(table)
    assert ends == set(table)


def test_U11_no_state_of_a_run_recurs() -> None:
    def walk(state: str, seen: tuple[str, ...]) -> None:
        assert state not in seen
        for to in RUN[state].values():
            walk(to, (*seen, state))

    walk("claimed", ())


def test_U11_the_ways_of_a_run() -> None:
    assert terminal(RUN) == ("completed", "failed", "cancelled", "blocked", "released")
    assert set(live(RUN)) == {*OPEN, "unknown"}
    assert sources(RUN, "lose") == ("running",), "only what ran can be lost"
    assert set(sources(RUN, "release")) <= set(OPEN), "what has ended cannot be given back"


def test_U11_unknown_is_left_by_a_persons_word_alone() -> None:
    assert RUN["unknown"] == {"vouch": "completed", "condemn": "failed"}
    assert sources(RUN, "vouch") == sources(RUN, "condemn") == ("unknown",), "no program's event is a person's word"
    assert "retry" not in EVENTS["run"], "an unknown run is never tried again by itself"


def test_only_release_and_retry_go_back() -> None:
    order = list(OCCURRENCE)
    back = [
        event
        for state, events in OCCURRENCE.items()
        for event, to in events.items()
        if order.index(to) <= order.index(state)
    ]
    assert back == ["release", "retry"]


def test_a_delivery_that_may_have_arrived_stays_so() -> None:
    assert advance(DELIVERY, "unknown", "retry") is None
    assert "unknown" in terminal(DELIVERY)


def test_an_event_that_nobody_knows_is_an_error() -> None:
    with pytest.raises(ValueError, match="not enough values"):
        target(states.RUN, "explode")
