"""The day fields of a cron line, as recurrence rules with the very same days.

Star rule: if either day field is a star field both must match, else one is enough. "Both" is one rule. "Either" is the
days of the month, and the weekdays restricted to all other days of the month: two *disjoint* rules, so that a calendar
which draws them never shows a run twice. When a day of the month is an extended form the weekdays are taken whole
instead and are cut out of the others; when both fields are extended the rules may overlap. Overlaps never double a
slot, since sets merge by instant.

The weekday nearest to day n (`nW`) never leaves its month, and a month without day n has none: so its rules depend on
the length of the month. "February has a 29th" is no part of a rule; positions say it (`_nearest_29_february`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from horae.timing.cron.fields import FieldSet
from horae.timing.rules import FR, MO, SA, SU, WORKDAYS, Day, Rule, label

_ALL_MONTHS = tuple(range(1, 13))
_LONG = (1, 3, 5, 7, 8, 10, 12)
_SHORT = (4, 6, 9, 11)
_FEBRUARY = (2,)
_EVERY_WEEKDAY: tuple[Day, ...] = tuple((0, day) for day in range(7))


@dataclass(frozen=True, slots=True)
class _Piece:
    """Days that fulfil all three lists (an empty one restricts nothing), of which `from_end` keeps the n-th last."""

    months: tuple[int, ...]
    monthdays: tuple[int, ...] = ()
    weekdays: tuple[Day, ...] = ()
    from_end: int = 0


def day_rules(
    day: FieldSet, weekday: FieldSet, month: FieldSet, hours: FieldSet, minutes: FieldSet
) -> tuple[Rule, ...]:
    """The rules of a whole line. Some may never fire (day 31 in February); the caller looks."""
    if not (day.nearest or day.last_weekday) and (day.star or weekday.star or day.full or weekday.full):
        numbers, weekdays = day.listed, weekday.weekdays
        if not (day.star or weekday.star):  # one of the two is full, and one is enough
            numbers, weekdays = (), ()
        freq = label(month.listed, numbers, weekdays, numbered=bool(weekday.ordinals and weekdays))
        return (Rule(freq, month.listed, numbers, weekdays, hours.numbers, minutes.numbers),)
    months = month.numbers
    wanted = weekday.weekdays
    both = day.star or weekday.star
    pieces = _restricted(_day_pieces(day, months), wanted) if both else _either(day, wanted, months)
    return tuple(_rule(piece, hours.numbers, minutes.numbers) for piece in pieces)


def either(day: FieldSet, weekday: FieldSet) -> bool:
    """Whether both day fields restrict and one of them is enough."""
    return not (day.star or weekday.star or day.full or weekday.full)


def _either(day: FieldSet, wanted: tuple[Day, ...], months: tuple[int, ...]) -> list[_Piece]:
    if day.full or not wanted:
        return [_Piece(months)]
    pieces = _day_pieces(day, months)
    if not (day.nearest or day.last_weekday or day.numbers[0] < 0):
        others = tuple(number for number in range(1, 32) if number not in day.numbers)
        return [*pieces, _Piece(months, others, wanted)]
    rest = tuple(pair for pair in _EVERY_WEEKDAY if pair not in wanted)
    if all(ordinal == 0 for ordinal, _ in wanted):
        pieces = _restricted(pieces, rest)
    return [*pieces, _Piece(months, (), wanted)]


def _day_pieces(day: FieldSet, months: tuple[int, ...]) -> list[_Piece]:
    if day.full:
        return [_Piece(months)]
    pieces = [_Piece(months, day.numbers)] if day.numbers else []
    if day.last_weekday:
        pieces.append(_Piece(months, (), WORKDAYS, from_end=1))
    for number in day.nearest:
        pieces += _nearest(number, months)
    return pieces


def _nearest(number: int, months: tuple[int, ...]) -> list[_Piece]:
    """The weekday nearest to that day: the Friday before a Saturday, the Monday after a Sunday, within the month."""
    if number == 1:
        return [_Piece(months, (1,), WORKDAYS), _Piece(months, (2, 3), ((0, MO),))]
    if number < 28:
        return _nearest_inside(number, months)
    pieces: list[_Piece] = []
    for kind, length in ((_LONG, 31), (_SHORT, 30)):
        chosen = tuple(month for month in months if month in kind)
        if chosen and number < length:
            pieces += _nearest_inside(number, chosen)
        elif chosen and number == length:
            pieces += [_Piece(chosen, (number,), WORKDAYS), _Piece(chosen, (number - 2, number - 1), ((0, FR),))]
    if 2 in months and number == 28:
        pieces += [
            _Piece(_FEBRUARY, (28,), WORKDAYS),
            # Friday 27th: Saturday 28th. Third last a Friday: the 26th before a last Sunday 28th, or again the 27th.
            _Piece(_FEBRUARY, (27, -3), ((0, FR),)),
            _Piece(_FEBRUARY, (29,), ((0, MO),)),
        ]
    elif 2 in months and number == 29:
        pieces += _nearest_29_february()
    return pieces


def _nearest_inside(number: int, months: tuple[int, ...]) -> list[_Piece]:
    return [
        _Piece(months, (number,), WORKDAYS),
        _Piece(months, (number - 1,), ((0, FR),)),
        _Piece(months, (number + 1,), ((0, MO),)),
    ]


def _nearest_29_february() -> list[_Piece]:
    # A Friday counts if a Saturday (Sunday) 29th follows it, that is, if it is second last of the two days listed; in
    # other years, and on other weekdays, at most one of the two exists.
    return [
        _Piece(_FEBRUARY, (29,), WORKDAYS),
        _Piece(_FEBRUARY, (28, 29), ((0, FR), (0, SA)), from_end=2),
        _Piece(_FEBRUARY, (27, 29), ((0, FR), (0, SU)), from_end=2),
    ]


def _restricted(pieces: list[_Piece], wanted: tuple[Day, ...]) -> list[_Piece]:
    """The pieces, cut down to those weekdays. No weekdays given: as they are."""
    if not wanted:
        return pieces
    kept: list[_Piece] = []
    for piece in pieces:
        if piece.from_end == 1:  # a position of the cut-down days would be another day: spell the last weekday out
            spelled = [_Piece(piece.months, (-1,), WORKDAYS), _Piece(piece.months, (-3, -2), ((0, FR),))]
            kept += _restricted(spelled, wanted)
        elif piece.from_end == 2:  # always the fourth and last Friday
            kept += [piece] if {(0, FR), (4, FR), (-1, FR)} & set(wanted) else []
        else:
            allowed = {number for _, number in piece.weekdays or _EVERY_WEEKDAY}
            weekdays = tuple(pair for pair in wanted if pair[1] in allowed)
            kept += [replace(piece, weekdays=weekdays)] if weekdays else []
    return kept


def _rule(piece: _Piece, hours: tuple[int, ...], minutes: tuple[int, ...]) -> Rule:
    months = () if piece.months == _ALL_MONTHS else piece.months
    each = len(hours) * len(minutes)  # positions count instances, and every day has that many
    positions = tuple(range(-piece.from_end * each, -(piece.from_end - 1) * each)) if piece.from_end else ()
    numbered = bool(positions) or any(ordinal for ordinal, _ in piece.weekdays)
    freq = label(months, piece.monthdays, piece.weekdays, numbered=numbered)
    return Rule(freq, months, piece.monthdays, piece.weekdays, hours, minutes, positions)
