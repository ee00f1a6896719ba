"""RFC 5545 text to recurrence sets and back: DTSTART, RRULE, RDATE, EXDATE, RECURRENCE-ID.

Properties stand on lines or, since their values hold no spaces, one after another on one line. A DTSTART begins a
block, and the RRULEs behind it count from there; several blocks are a schedule that changes at dates. RDATE and EXDATE
hold for all. RECURRENCE-ID with a DTSTART moves one slot, with STATUS:CANCELLED it skips one.

Where the RFC leaves a reading open: a DTSTART off its own rule is no slot (a warning says so); UNTIL as a day includes
that day, a floating one is a time of the zone; COUNT counts instances that EXDATE leaves out. A DTSTART in UTC with a
plain step (every n minutes, hours, days, weeks) is elapsed time. Without a DTSTART a rule starts at the first whole minute
from the anchor on, and `written` says so. What a job cannot mean is refused by name: EXRULE, periods, steps under a minute,
RSCALE, several seconds in a minute, COUNT with several rules.

Invariant: `read(write(s)).set == s` for every set that `write` accepts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from horae.errors import Invalid
from horae.limits import HORIZON_YEARS, RULE_PARTS_MAX, RULES_MAX
from horae.timing.clockchange import EPOCH, instants_of
from horae.timing.ical.dates import TextDate, instants, moment_of, params_of, refused, short, stamp, stamped
from horae.timing.ical.rrule import grid_of, parts_of, rule_of, written_grid, written_rule
from horae.timing.policy import default_policy
from horae.timing.recurrence import Gap, Grid, RecurrenceSet, Repeat, SlotException
from horae.timing.rules import Rule
from horae.timing.walls import HORIZON_S, layer_of
from horae.timing.zones import zone

BEGINS = re.compile(
    r"(?:rrule|exrule|rdate|exdate|dtstart|dtend|duration|recurrence-id|begin|freq)\s*[:;=]", re.IGNORECASE
)
"""What this kind of text begins with."""

_WORD = re.compile(r'(?:"[^"\n]*"|\S)+')
_PROPERTY = re.compile(r'([A-Z-]+)((?:;[A-Z-]+=(?:"[^"]*"|[^;:\s"]*))*):(\S*)')
_FOLD = re.compile(r"\r?\n[ \t]+(?!(?:RRULE|RDATE|EXDATE|EXRULE|DTSTART|RECURRENCE-ID|STATUS)[;:])", re.IGNORECASE)
_ONE_S = timedelta(seconds=1)
_LONG_AGO, _FAR_AHEAD = datetime(2, 1, 2, tzinfo=UTC), datetime(9997, 12, 31, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Calendar:
    """What a text says. `written` is one line with a fixed start."""

    set: RecurrenceSet
    written: str
    warnings: tuple[str, ...] = ()


@dataclass(slots=True)
class _Block:
    """A DTSTART and the rules behind it."""

    start: TextDate | None
    rules: list[dict[str, str]] = field(default_factory=list[dict[str, str]])


@dataclass(slots=True)
class _Collected:
    blocks: list[_Block] = field(default_factory=list[_Block])
    rdates: list[TextDate] = field(default_factory=list[TextDate])
    exdates: list[TextDate] = field(default_factory=list[TextDate])
    exceptions: list[list[TextDate | None]] = field(default_factory=list[list[TextDate | None]])


def read_rfc5545(
    text: str, timezone: str, *, anchor: datetime, gap: Gap | None = None, repeat: Repeat | None = None
) -> Calendar:
    """Read the text. Times without a zone are the zone's; a rule without DTSTART starts at `anchor`. Raises `Invalid`.

    `gap` and `repeat` as in `parse_schedule`: they decide which slots an EXDATE means.
    """
    found = _collect(text)
    place = _place(found, timezone)
    start = _whole_minute(anchor.astimezone(zone(place)).replace(tzinfo=None))
    warnings: list[str] = []
    rules: list[Rule] = []
    grids: list[Grid] = []
    dates: list[datetime] = []
    bare = any(block.start is None for block in found.blocks)
    for block in found.blocks:
        begin = block.start.wall if block.start else start
        if not block.rules and block.start is not None:
            dates += instants(block.start, place)
        if len(block.rules) > 1 and any("COUNT" in parts for parts in block.rules):
            raise refused("COUNT", "counts the runs of one rule, and here are several", "give each rule an UNTIL")
        for parts in block.rules:
            grid = grid_of(parts, block.start)
            if grid is not None:
                grids.append(grid)
                warnings += _elapsed_warnings(grid, timezone)
            else:
                rules.append(_firing(rule_of(parts, begin, place, bare=block.start is None), parts))
        warnings += _start_warnings(block, place, begin, found.exdates)
    dates += [instant for moment in found.rdates for instant in instants(moment, place)]
    usual = default_policy(tuple(rules))
    whole = RecurrenceSet(
        place, tuple(rules), tuple(grids), tuple(dates), gap=gap or usual[0], repeat=repeat or usual[1]
    )
    left_out: list[datetime] = []
    for moment in found.exdates:
        meant = _slots_at(moment, whole)
        left_out += meant
        starts = any(block.start and block.start.wall == moment.wall for block in found.blocks)
        if not meant and not starts:  # a DTSTART off its rule is often left out, so that no calendar draws it
            warnings.append(f"EXDATE {moment.text} is no slot of the schedule: it leaves nothing out")
    slots = replace(whole, exdates=tuple(left_out), exceptions=_exceptions(found, whole))
    if slots.next_after(_LONG_AGO) is None:
        raise Invalid("the schedule never fires", "check UNTIL, COUNT and the days against DTSTART", value=text)
    if place != timezone and rules:
        warnings.append(f"it follows the clock of {place}, as its DTSTART says, and not that of {timezone}")
    line = " ".join(_FOLD.sub("", text).split())
    if bare:
        line = line if line[:4].upper() != "FREQ" else f"RRULE:{line}"
        line = f"DTSTART{stamped(_written_start(rules, start), place)} {line}"
        warnings += _bare_warnings(found.blocks[0].rules[0], start)
    return Calendar(slots, line, tuple(warnings))


def _written_start(rules: list[Rule], start: datetime) -> datetime:
    """The first slot of a rule that had no DTSTART; of several, where they start."""
    first = layer_of(rules[0]).next(_wall(start), _wall(start) + HORIZON_S) if len(rules) == 1 else None
    return start if first is None else _from_wall(first)


def _firing(rule: Rule, parts: dict[str, str]) -> Rule:
    """The rule, if it has a slot within the horizon from its start. Raises `Invalid`."""
    layer = layer_of(rule)
    first = layer.next(layer.low, layer.low + HORIZON_S)
    if first is None:
        shown = short(";".join(f"{name}={value}" for name, value in parts.items()))
        raise Invalid(
            f"the schedule never fires: {shown} has no slot within {HORIZON_YEARS} years from its start",
            "check the days and times against each other and against DTSTART",
            field="RRULE",
        )
    return rule


def _whole_minute(wall: datetime) -> datetime:
    """The first whole minute from there on: what has passed already must not be counted by COUNT."""
    minute = wall.replace(second=0, microsecond=0)
    return minute if minute == wall else minute + timedelta(minutes=1)


def _collect(text: str) -> _Collected:
    found = _Collected()
    moving = False
    for word in _WORD.findall(_FOLD.sub("", text)):
        line = word.upper()
        if line.startswith("FREQ="):
            line = f"RRULE:{line}"
        match = _PROPERTY.fullmatch(line)
        if match is None:
            if ";TZID=" in line:
                hint = "name a place of the IANA list, for example Europe/Berlin, without spaces"
                raise refused(short(word), "has a TZID that cannot be read", hint)
            raise Invalid(
                f"cannot read {short(word)!r} as a calendar property",
                "write, for example, RRULE:FREQ=WEEKLY;BYDAY=MO;BYHOUR=9;BYMINUTE=0",
                field="line",
                value=word,
            )
        name, value = match[1], match[3]
        params = params_of(name, word[len(name) : len(name) + len(match[2])])
        if name == "RECURRENCE-ID":
            found.exceptions.append([moment_of(name, params, value), None])
            moving = True
        elif name == "DTSTART" and moving:
            found.exceptions[-1][1] = moment_of(name, params, value)
            moving = False
        elif name == "STATUS" and moving and value == "CANCELLED":
            moving = False
        elif name == "DTSTART":
            found.blocks.append(_Block(moment_of(name, params, value)))
        elif name == "RRULE":
            if not found.blocks:
                found.blocks.append(_Block(None))
            found.blocks[-1].rules.append(parts_of(value))
        elif name in {"RDATE", "EXDATE"}:
            target = found.rdates if name == "RDATE" else found.exdates
            target += [moment_of(name, params, part) for part in value.split(",")]
        else:
            raise _unknown(name)
    started = sum(block.start is not None for block in found.blocks)
    if started and found.blocks[0].start is None:  # the order of lines is free: what stands before belongs to it too
        if started > 1:
            raise refused("RRULE", "stands before several DTSTARTs", "write it behind the one that it belongs to")
        before = found.blocks.pop(0)
        found.blocks[0].rules[:0] = before.rules
    if moving:
        raise refused("RECURRENCE-ID", "names a slot and not what becomes of it", "add its DTSTART or STATUS:CANCELLED")
    if not (found.blocks or found.rdates):
        raise Invalid("no RRULE, no RDATE and no DTSTART: there is nothing to run", "add one of them", field="line")
    if sum(len(block.rules) for block in found.blocks) > RULES_MAX:
        raise Invalid(f"more than {RULES_MAX} rules in one schedule", "make several jobs", field="RRULE")
    if len(found.rdates) + len(found.exdates) + len(found.exceptions) > RULE_PARTS_MAX:
        raise Invalid(f"more than {RULE_PARTS_MAX} single dates", "say them with rules", field="RDATE")
    return found


def _unknown(name: str) -> Invalid:
    reasons = {
        "EXRULE": ("is deprecated, and products read it differently or not at all", "leave dates out with EXDATE"),
        "DTEND": ("says how long an event is drawn, not when it runs", "leave it out"),
        "DURATION": ("says how long an event is drawn, not when it runs", "leave it out"),
        "BEGIN": ("opens a whole calendar", "give its DTSTART, RRULE, RDATE and EXDATE lines alone"),
    }
    what, hint = reasons.get(
        name, ("is no part of a recurrence", "the properties are DTSTART, RRULE, RDATE and EXDATE")
    )
    return refused(name, what, hint)


def _place(found: _Collected, timezone: str) -> str:
    """The one zone whose clock the rules follow."""
    places = {
        (block.start.place if block.start else None) or timezone
        for block in found.blocks
        if any(grid_of(parts, block.start) is None for parts in block.rules)
    }
    if len(places) > 1:
        names = " and ".join(sorted(places))
        raise Invalid(
            f"the rules follow different clocks: {names}", "give every DTSTART the same zone", field="DTSTART"
        )
    return places.pop() if places else timezone


def _slots_at(moment: TextDate, slots: RecurrenceSet) -> list[datetime]:
    """The slots that a time of the text means, by what the set does with it when clocks change; of a day, all of it."""
    place = moment.place or slots.zone
    if moment.day:
        begin = instants_of(moment.wall, place)[0] - _ONE_S
        end = instants_of(moment.wall + timedelta(days=1), place, repeat="last")[-1] - _ONE_S
        return list(slots.between(begin, end))
    found = instants(moment, place) if moment.utc else list(instants_of(moment.wall, place, slots.gap, "both"))
    return [instant for instant in found if slots.contains(instant)]


def _exceptions(found: _Collected, whole: RecurrenceSet) -> tuple[SlotException, ...]:
    laid: list[SlotException] = []
    for moment, due in found.exceptions:
        assert moment is not None, "only the second one may be absent"
        meant = _slots_at(moment, whole)
        if not meant:
            raise Invalid(f"RECURRENCE-ID {moment.text} is no slot of the schedule", None, field="RECURRENCE-ID")
        laid.append(SlotException(meant[0], instants(due, whole.zone)[0] if due is not None else None))
    return tuple(laid)


def _elapsed_warnings(grid: Grid, timezone: str) -> list[str]:
    if grid.period_s % 86400 or not _changes_clocks(timezone, grid.anchor):
        return []
    return [
        f"a step from an instant in UTC is elapsed time: in {timezone} its time of day moves with each clock change"
    ]


def _changes_clocks(timezone: str, anchor: datetime) -> bool:
    offsets = {(anchor + timedelta(days=days)).astimezone(zone(timezone)).utcoffset() for days in (0, 91, 182, 273)}
    return len(offsets) > 1


def _start_warnings(block: _Block, place: str, begin: datetime, exdates: list[TextDate]) -> list[str]:
    if block.start is None or not block.rules:
        return []
    warnings: list[str] = []
    if block.start.day:
        warnings.append(f"DTSTART {block.start.text} names a day: what its rule does not say is midnight")
    if block.start.utc or block.start.day or any(moment.wall == begin for moment in exdates):
        return warnings
    rules = tuple(rule_of(parts, begin, place, bare=False) for parts in block.rules)
    if all(layer_of(rule).next(_wall(begin), _wall(begin)) is None for rule in rules):
        warnings.append(
            f"DTSTART {block.start.text} does not fit its own rule: it is no slot, but some calendars draw it"
        )
    return warnings


def _bare_warnings(parts: dict[str, str], start: datetime) -> list[str]:
    """A rule without DTSTART takes what it does not say from the moment of writing; people seldom mean that."""
    needs = {"MINUTELY": (), "HOURLY": ("BYMINUTE",)}.get(parts["FREQ"], ("BYHOUR", "BYMINUTE"))
    missing = [name for name in needs if name not in parts]
    if not missing:
        return []
    taken = f"{start:%H:%M}" if "BYHOUR" in missing else f"minute {start.minute}"
    return [f"the rule has no {' and no '.join(missing)}: it takes {taken} from the moment at which it starts"]


def write_rfc5545(slots: RecurrenceSet) -> str:
    """The set as lines, in the form that calendars expect: DTSTART on the first slot, one block for each start.

    A rule that has always been there has no DTSTART. Raises `Invalid` for a grid that is finer than a minute.
    """
    lines: list[str] = []
    known: str | None = ""
    begin = [rule.start is not None or rule.since is not None for rule in slots.rules]
    if not all(begin) and (any(begin) or slots.grids):  # a DTSTART would be that of all rules
        raise Invalid("a rule that has always been there cannot stand beside one that begins", None, field="DTSTART")
    for rule in slots.rules:
        start = None
        alone = replace(slots, rules=(rule,), grids=(), dates=(), exdates=(), exceptions=())
        first = alone.next_after(_LONG_AGO)
        if first is None:
            continue  # it never fires, or nothing lies between its bounds
        if rule.bounded:
            if rule.count is not None and (rule.since is not None or rule.until is not None):
                last = alone.last_until(_FAR_AHEAD)  # a COUNT that is cut ends with its last slot
                rule = replace(rule, count=None, until=last)  # noqa: PLW2901
                alone = replace(alone, rules=(rule,))
            if rule.start is not None or rule.since is not None:
                start = _first_wall(alone, first)
        line = None if start is None else f"DTSTART{stamped(start, slots.zone)}"
        if line is not None and (line != known or rule.count is not None):  # a COUNT needs a block of its own
            lines.append(line)
        known = "" if rule.count is not None else line or known
        lines.append(f"RRULE:{written_rule(rule, start)}")
    for grid in slots.grids:
        lines += [f"DTSTART:{stamp(grid.anchor)}", f"RRULE:{written_grid(grid)}"]
    if slots.dates and not (slots.rules or slots.grids):
        lines.append(f"DTSTART:{stamp(slots.dates[0])}")
        lines += [f"RDATE:{','.join(map(stamp, slots.dates[1:]))}"] if slots.dates[1:] else []
    elif slots.dates:
        lines.append(f"RDATE:{','.join(map(stamp, slots.dates))}")
    if slots.exdates:
        lines.append(f"EXDATE:{','.join(map(stamp, slots.exdates))}")
    for slot, due in slots.exceptions:
        lines.append(f"RECURRENCE-ID:{stamp(slot)}")
        lines.append(f"DTSTART:{stamp(due)}" if due is not None else "STATUS:CANCELLED")
    return "\n".join(lines)


def _first_wall(alone: RecurrenceSet, first: datetime) -> datetime:
    """The wall time at which the one rule of the set can start, so that `first` is its first slot."""
    rule = alone.rules[0]
    layer = layer_of(rule)
    if rule.since is None:
        found = layer.next(layer.low, layer.high)
        assert found is not None, "it has a slot"
        return _from_wall(found)
    begin = max(layer.low, _wall(first.astimezone(zone(alone.zone)).replace(tzinfo=None)) - 86400)
    until = first + timedelta(days=3)
    wanted = list(alone.between(first - _ONE_S, until))
    while (found := layer.next(begin, begin + 3 * 86400)) is not None:
        wall = _from_wall(found)
        if instants_of(wall, alone.zone, alone.gap, alone.repeat)[:1] >= (first,):
            written = replace(alone, rules=(replace(rule, since=None, start=wall),))
            if list(written.between(first - timedelta(days=3), until)) == wanted:
                return wall
            break
        begin = found + 1
    says = "the rule begins inside a clock change, between slots that no DTSTART can tell apart"
    raise Invalid(says, "let it begin at another hour", field="DTSTART")


def _wall(wall: datetime) -> int:
    return (wall.replace(tzinfo=UTC) - EPOCH) // _ONE_S


def _from_wall(wall: int) -> datetime:
    return (EPOCH + timedelta(seconds=wall)).replace(tzinfo=None)
