"""The wall times of some rules, as one ascending sequence of integers. No zone, no datetime.

A wall time is the count of seconds since 1970-01-01T00:00 as a clock without a zone shows it. Days are bits of a
month (`days`), times are bits of a day: bit m stands for minute m, and a rule has one second of the minute. So "the
next one" is a shift and a look at the lowest bit, whatever the rule holds; a search walks months, never days or
minutes, and never begins at the rule's start. `reach` is how far it goes (seconds). Rules that differ in their days
only become one layer; the others are searched side by side.

Invariants: `next` and `last` are inverse on members; `count` equals the number of members; overlapping rules give each
wall time once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from functools import lru_cache
from itertools import combinations

from horae.errors import Invalid
from horae.limits import HORIZON_YEARS, RULE_COUNT_YEARS
from horae.timing.days import EPOCH_DAY, RuleDays, day_number, month_length, ones
from horae.timing.positions import Picked
from horae.timing.rules import STEP_S, Rule

DAY = 86400
SUBDAILY = frozenset({"HOURLY", "MINUTELY"})
_MINUTES = 1440
_ALL_MINUTES = (1 << _MINUTES) - 1
HORIZON_S = HORIZON_YEARS * 366 * DAY
_MINUTES_OF = tuple(1 << minute for minute in range(60))
_HOURS = tuple(1 << 60 * hour for hour in range(24))
_EVERY_MINUTE, _EVERY_HOUR = sum(_MINUTES_OF), sum(_HOURS)
_NEVER = 1 << 62
_LEAST_DAY, _MOST_DAY = 1 - EPOCH_DAY, date.max.toordinal() - EPOCH_DAY


class Layer:
    """Days x times, with one second of the minute, from `low` to `high`."""

    __slots__ = ("_constant", "_days", "_of_month", "_picked", "_times_of", "high", "low", "reach", "second")

    def __init__(self, days: tuple[RuleDays, ...], rule: Rule, times: int) -> None:
        self.second = rule.second
        self._constant = times
        self._times_of: Callable[[int], int] | None = None
        self._picked: Picked | None = None
        self.low = -_NEVER
        self.high = _NEVER
        self.reach = HORIZON_S * -(-rule.interval * STEP_S[rule.freq] // (366 * DAY))
        if rule.freq in SUBDAILY and rule.interval != 1:
            times_of, steady = _stepping(rule, times)
            if steady:
                self._constant = times_of(0)
            else:
                self._times_of = times_of
        elif rule.bysetpos and rule.freq in {"WEEKLY", "MONTHLY", "YEARLY"}:
            self._picked = Picked(days[0], rule, times)
            self._times_of = self._picked.times
        self._days = days if self._constant else ()  # without a time of day there is nothing to find
        plain = self._times_of is None and len(self._days) == 1  # nearly always
        self._of_month = days[0].of_month if plain else self._days_of_month
        if rule.start is not None:
            self.low = day_number(rule.start) * DAY + rule.start.hour * 3600 + rule.start.minute * 60
            self.low += rule.start.second
        if rule.count is not None:
            self.high = self._end(rule.count)

    def next(self, wall: int, limit: int) -> int | None:
        """The first member in [wall, limit]."""
        wall = max(wall, self.low)
        limit = min(limit, self.high)
        day, second = divmod(wall, DAY)
        if not _LEAST_DAY <= day <= _MOST_DAY:
            return None
        today = date.fromordinal(day + EPOCH_DAY)
        year, month, number = today.year, today.month, today.day
        first = day - number
        mask = self._of_month(year, month, first + 1) >> number << number
        if mask >> number & 1:
            minute = (second - self.second + 59) // 60  # the first that is not before
            times = (self._constant if self._times_of is None else self._times_of(day)) >> minute
            if times:
                found = day * DAY + (minute + (times & -times).bit_length() - 1) * 60 + self.second
                return found if found <= limit else None
            mask ^= 1 << number
        while not mask:
            first += month_length(year, month)
            if first * DAY >= limit:
                return None
            year, month = (year, month + 1) if month < 12 else (year + 1, 1)
            if year > 9999:
                return None
            mask = self._of_month(year, month, first + 1)
        day = first + (mask & -mask).bit_length() - 1
        times = self._times(day)
        found = day * DAY + ((times & -times).bit_length() - 1) * 60 + self.second
        return found if found <= limit else None

    def members(self, wall: int, limit: int) -> Iterator[int]:
        """The members in [wall, limit], ascending. One after another they cost less than by `next`."""
        limit = min(limit, self.high)
        found = self.next(wall, limit)
        while found is not None:
            begin = found - found % DAY
            minute = (found - begin) // 60
            times = self._times(begin // DAY) >> minute << minute
            while times:
                low = times & -times
                found = begin + (low.bit_length() - 1) * 60 + self.second
                if found > limit:
                    return
                yield found
                times ^= low
            found = self.next(begin + DAY, limit)

    def last(self, wall: int, floor: int) -> int | None:
        """The last member in [floor, wall]."""
        wall = min(wall, self.high)
        floor = max(floor, self.low)
        day, second = divmod(wall, DAY)
        if not _LEAST_DAY <= day <= _MOST_DAY:
            return None
        today = date.fromordinal(day + EPOCH_DAY)
        year, month, number = today.year, today.month, today.day
        first = day - number
        mask = self._of_month(year, month, first + 1) & ((2 << number) - 1)
        if mask >> number & 1:
            minute = (second - self.second) // 60  # the last that is not after; -1 when none is
            times = self._times(day) & ((2 << minute) - 1) if minute >= 0 else 0
            if times:
                found = day * DAY + (times.bit_length() - 1) * 60 + self.second
                return found if found >= floor else None
            mask ^= 1 << number
        while not mask:
            if (first + 1) * DAY <= floor:
                return None
            year, month = (year, month - 1) if month > 1 else (year - 1, 12)
            if year < 1:
                return None
            first -= month_length(year, month)
            mask = self._of_month(year, month, first + 1)
        day = first + mask.bit_length() - 1
        found = day * DAY + (self._times(day).bit_length() - 1) * 60 + self.second
        return found if found >= floor else None

    def count(self, start: int, stop: int) -> int:
        """The number of members in [start, stop)."""
        start, stop = max(start, self.low), min(stop, self.high + 1)
        if stop <= start:
            return 0
        opening, closing = start // DAY, (stop - 1) // DAY
        today = date.fromordinal(opening + EPOCH_DAY)
        year, month = today.year, today.month
        first = opening - today.day
        each = 0 if self._times_of is not None else self._constant.bit_count()
        total = 0
        while first < closing:
            mask = self._of_month(year, month, first + 1)
            if opening > first:
                mask = mask >> opening - first << opening - first
            length = month_length(year, month)
            if closing < first + length:
                mask &= (2 << closing - first) - 1
            if each:
                total += mask.bit_count() * each
            else:
                total += sum(self._times(first + number).bit_count() for number in ones(mask))
            first += length
            year, month = (year, month + 1) if month < 12 else (year + 1, 1)
        # The first and the last day were taken whole
        for day in {opening, closing}:
            total += self.minutes_between(day, start, stop).bit_count() - self.minutes(day).bit_count()
        return total

    def minutes(self, day: int) -> int:
        """The minutes of that day, as bits, whatever the bounds."""
        today = date.fromordinal(day + EPOCH_DAY)
        mask = self._of_month(today.year, today.month, day - today.day + 1)
        return self._times(day) if mask >> today.day & 1 else 0

    def never_meets(self, other: Layer) -> bool:
        """Whether no wall time can be in both, by their bounds, times or seconds alone."""
        apart_in_time = self.high < other.low or other.high < self.low
        return apart_in_time or self.second != other.second or not self._constant & other._constant

    def fires(self) -> bool:
        """Whether it ever has a member, within the horizon."""
        begin = self.low if self.low > -_NEVER else 0
        return self.next(begin, begin + self.reach) is not None

    def _days_of_month(self, year: int, month: int, first: int) -> int:
        """The days of the month that have a time, as bits."""
        if self._picked is not None:
            return self._picked.days(year, month, first)
        mask = 0
        for days in self._days:
            mask |= days.of_month(year, month, first)
        if self._times_of is not None:
            for number in ones(mask):
                if not self._times_of(first + number - 1):
                    mask ^= 1 << number
        return mask

    def _times(self, day: int) -> int:
        return self._constant if self._times_of is None else self._times_of(day)

    def minutes_between(self, day: int, start: int, stop: int) -> int:
        """The minutes of that day, as bits, that are members in [start, stop)."""
        begin = day * DAY + self.second
        low = max(0, (max(start, self.low) - begin + 59) // 60)
        high = min(_MINUTES, (min(stop, self.high + 1) - begin + 59) // 60)
        return self.minutes(day) >> low << low & ((1 << high) - 1) if low < high else 0

    def _end(self, number: int) -> int:
        """The wall time of the `number`-th member: by months, then by days. Raises `Invalid` when it is too far."""
        day = self.low // DAY
        today = date.fromordinal(day + EPOCH_DAY)
        year, month = today.year, today.month
        first = day - today.day + 1
        left, begin = number, self.low
        while first * DAY - self.low <= RULE_COUNT_YEARS * 366 * DAY and year < 9999:
            if left == number and first * DAY - self.low > self.reach:
                break
            after = first + month_length(year, month)
            here = self._in_month(year, month, first) if begin == first * DAY else self.count(begin, after * DAY)
            if here >= left:
                return self._end_in_month(begin, left)
            left -= here
            first, begin = after, after * DAY
            year, month = (year, month + 1) if month < 12 else (year + 1, 1)
        if left == number:
            return self.low - 1  # it never fires
        says = f"COUNT={number} is not used up within {RULE_COUNT_YEARS} years"
        raise Invalid(says, "leave COUNT out, or give an UNTIL", field="count", value=number)

    def _in_month(self, year: int, month: int, first: int) -> int:
        """The number of members in a whole month, whatever the bounds."""
        mask = self._of_month(year, month, first)
        if self._times_of is None:
            return mask.bit_count() * self._constant.bit_count()
        return sum(self._times(first + number - 1).bit_count() for number in ones(mask))

    def _end_in_month(self, begin: int, left: int) -> int:
        day = begin // DAY
        while True:
            here = self.count(max(begin, day * DAY), (day + 1) * DAY)
            if here >= left:
                times = self.minutes(day)
                skipped = times.bit_count() - here  # those of the first day that lie before the start
                return day * DAY + ones(times)[skipped + left - 1] * 60 + self.second
            left -= here
            day += 1


class Walls:
    """The union of several layers."""

    __slots__ = ("_layers", "high", "low", "reach")

    def __init__(self, layers: tuple[Layer, ...]) -> None:
        self._layers = layers
        self.low = min(layer.low for layer in layers)
        self.high = max(layer.high for layer in layers)
        self.reach = max(layer.reach for layer in layers)

    def next(self, wall: int, limit: int) -> int | None:
        """The first member in [wall, limit]."""
        best: int | None = None
        for layer in self._layers:
            found = layer.next(wall, limit)
            if found is not None:
                best = limit = found
        return best

    def members(self, wall: int, limit: int) -> Iterator[int]:
        """The members in [wall, limit], ascending."""
        found = self.next(wall, limit)
        while found is not None:
            yield found
            found = self.next(found + 1, limit)

    def last(self, wall: int, floor: int) -> int | None:
        """The last member in [floor, wall]."""
        best: int | None = None
        for layer in self._layers:
            found = layer.last(wall, floor)
            if found is not None:
                best = floor = found
        return best

    def count(self, start: int, stop: int) -> int:
        """The number of members in [start, stop). By days where layers may meet."""
        if all(one.never_meets(other) for one, other in combinations(self._layers, 2)):
            return sum(layer.count(start, stop) for layer in self._layers)
        start, stop = max(start, self.low), min(stop, self.high + 1)
        total = 0
        for second in {layer.second for layer in self._layers}:
            layers = [layer for layer in self._layers if layer.second == second]
            for day in range(start // DAY, (stop - 1) // DAY + 1):
                minutes = 0
                for layer in layers:
                    minutes |= layer.minutes_between(day, start, stop)
                total += minutes.bit_count()
        return total

    def fires(self) -> bool:
        """Whether it ever has a member, within the horizon."""
        return any(layer.fires() for layer in self._layers)


def layer_of(rule: Rule) -> Layer:
    """One rule, compiled. Raises `Invalid` for a COUNT that leads too far."""
    return _compiled(rule) if rule.count is None else _counted(rule)


@lru_cache(maxsize=256)
def _counted(rule: Rule) -> Layer:
    return _compiled(rule)  # kept, since looking for the end of a COUNT takes milliseconds


def _compiled(rule: Rule) -> Layer:
    return Layer((RuleDays(rule),), rule, _minutes(rule))


def walls_of(rules: Sequence[Rule]) -> Layer | Walls:
    """The union of the rules' wall times. `since` and `until` are not looked at: they bound instants."""
    if len(rules) == 1:
        return layer_of(rules[0])
    days_of: dict[tuple[int, int], list[RuleDays]] = {}
    rule_of: dict[tuple[int, int], Rule] = {}
    layers: list[Layer] = []
    for rule in rules:
        if rule.start is not None or rule.anchored or rule.bysetpos:
            layers.append(layer_of(rule))
            continue
        key = (_minutes(rule), rule.second)
        rule_of[key] = rule
        days_of.setdefault(key, []).append(RuleDays(rule))
    layers += [Layer(tuple(days), rule_of[key], key[0]) for key, days in days_of.items()]
    return layers[0] if len(layers) == 1 else Walls(tuple(layers))


def times_of_day(rule: Rule) -> int | None:
    """The minutes of a day on which the rule runs, as bits; None when they differ from day to day."""
    allowed = _minutes(rule)
    if rule.interval == 1 or rule.freq not in SUBDAILY:
        return allowed
    times_of, steady = _stepping(rule, allowed)
    return times_of(0) if steady else None


def _minutes(rule: Rule) -> int:
    minutes = minutes_of_day(rule.byhour, rule.byminute)
    if not rule.bysetpos or rule.freq in {"WEEKLY", "MONTHLY", "YEARLY"}:
        return minutes
    if rule.freq == "DAILY":
        return sum(1 << minute for minute in _chosen(ones(minutes), rule.bysetpos))
    if rule.freq == "HOURLY":
        chosen = tuple(_chosen(list(rule.byminute or range(60)), rule.bysetpos))
        return minutes_of_day(rule.byhour, chosen) if chosen else 0
    return minutes if {1, -1} & set(rule.bysetpos) else 0


def _chosen(values: list[int], positions: tuple[int, ...]) -> list[int]:
    places = {position - 1 if position > 0 else len(values) + position for position in positions}
    return [values[place] for place in sorted(places) if 0 <= place < len(values)]


def minutes_of_day(hours: tuple[int, ...], minutes: tuple[int, ...]) -> int:
    """Those minutes of those hours (of all, when none is given), as bits."""
    spread = sum(map(_HOURS.__getitem__, hours)) if hours else _EVERY_HOUR
    return spread * (
        sum(map(_MINUTES_OF.__getitem__, minutes)) if minutes else _EVERY_MINUTE
    )  # no carry: the minutes of an hour fit between two hours


def _stepping(rule: Rule, allowed: int) -> tuple[Callable[[int], int], bool]:
    """Minutes of a day for a rule that steps through hours or minutes: the pattern of its step, shifted by the day.

    Also whether all days are alike.
    """
    assert rule.start is not None, "a rule with INTERVAL has a start"
    hourly = rule.freq == "HOURLY"
    step = rule.interval * (60 if hourly else 1)
    origin = day_number(rule.start) * _MINUTES + rule.start.hour * 60 + (0 if hourly else rule.start.minute)
    pattern = sum(((1 << 60) - 1 if hourly else 1) << minute for minute in range(0, _MINUTES, step))
    known: dict[int, int] = {}

    def times(day: int) -> int:
        shift = (origin - day * _MINUTES) % step
        if shift >= _MINUTES:
            return 0
        found = known.get(shift)
        if found is None:
            found = known[shift] = pattern << shift & _ALL_MINUTES & allowed
        return found

    return times, _MINUTES % step == 0
