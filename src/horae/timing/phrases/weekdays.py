"""The grammar of days of the week: "monday", "mondays and fridays", "mon-fri", "weekdays"."""

from __future__ import annotations

from horae.timing.daysets import Days
from horae.timing.phrases.grammar import Name, Rule, choice, many, reading, sequence
from horae.timing.phrases.times import JOINT, WEEKDAY
from horae.timing.vocabulary import WEEKDAYS

Row = tuple[int, ...]
"""Numbers of weekdays, of months, of weeks."""

WORKDAYS, WEEKEND = (0, 1, 2, 3, 4), (5, 6)


def _row(first: Row, last: Row) -> Row:
    return tuple((first[0] + step) % 7 for step in range((last[0] - first[0]) % 7 + 1))


def _weekdays(rows: list[Row]) -> Days:
    return Days(weekdays=tuple((0, number) for number in sorted({number for row in rows for number in row})))


_NAMED = {name: (number,) for name, number in WEEKDAY.values.items()}
_PLURAL_NAMED = {f"{name.lower()}s": (number,) for number, name in enumerate(WEEKDAYS)}
ONE_WEEKDAY = Name("a day of the week", _NAMED | _PLURAL_NAMED, WEEKDAY.shown)
_SINGLE = Name("a day of the week", _NAMED | {"weekday": WORKDAYS, "weekend": WEEKEND}, [*WEEKDAY.shown, "weekday"])
_PLURAL = Name("days of the week", _PLURAL_NAMED | {"weekdays": WORKDAYS, "weekends": WEEKEND})
_IN_A_ROW = reading(sequence(ONE_WEEKDAY, choice("-", "to", "through"), ONE_WEEKDAY), _row)
ANY_WEEKDAYS = Rule("weekdays", many(choice(_IN_A_ROW, _SINGLE, _PLURAL), JOINT), _weekdays)
ALL_WEEKDAYS = Rule("weekdays in the plural", many(choice(_IN_A_ROW, _PLURAL), JOINT), _weekdays)
