"""Texts of other products: named in the refusal, with what to write instead.

Looked at only when a text is refused anyway, so nothing that is a schedule is hidden. What is told to be written is read
first (`reads`); where a translation is not read, or would not say the same, an example or the reason stands alone.
Quartz and AWS number weekdays from 1 for Sunday, and know a year: such numbers become names, and what has no place here
is said.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from itertools import pairwise

from horae.errors import Invalid
from horae.timing.vocabulary import MONTHS
from horae.timing.zones import names

Reads = Callable[[str], bool]

_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_SIX = "a cron line has five fields; this has six, with "
_CHARS_MAX = 200  # of such a text
_STAMP_DIGITS = (9, 13)  # seconds since 2001, to milliseconds
_LOW = (0, 0, 1, 1, 0)  # the least values of the five fields of cron
_MIN = "[0-9]{1,2}"


def known(text: str, reads: Reads) -> Invalid | None:
    """The refusal of a text that another product reads, or None. `text` has single spaces."""
    if len(text) > _CHARS_MAX:
        return None
    for look in (
        _zoned,
        _called,
        _hashed,
        _quartz,
        _six,
        _crontab,
        _quoted,
        _systemd,
        _iso_repeat,
        _iso_basic,
        _stamp,
        _date,
        _shift,
    ):
        found = look(text, reads)
        if found is not None:
            message, hint = found
            return Invalid(message, hint, value=text)
    return None


Answer = tuple[str, str] | None


def _write(texts: list[str], reads: Reads, example: str, beside: str = "") -> str:
    """A hint with those of the texts that are read, else with an example."""
    shown = [f"`{text}`" for text in dict.fromkeys(texts) if reads(text)]
    return f"write{' ' + ' or '.join(shown) if shown else f', for example, `{example}`'}{beside}"


# --- a zone in the text


def _zoned(text: str, reads: Reads) -> Answer:
    """`CRON_TZ=Europe/Paris 0 9 * * *`, `every day at 9am Europe/Paris`, `OnCalendar` with a zone."""
    named = re.fullmatch(r"(?:CRON_)?TZ=(\S+) (.+)", text, re.IGNORECASE)
    place, rest = (named[1], named[2]) if named else ("", "")
    if not named:
        rest, _, last = text.rpartition(" ")
        place = {"utc": "UTC", "gmt": "UTC", "z": "UTC"}.get(last.lower(), last)
        if place not in names() or not reads(rest):
            return None
    example = "0 9 * * *"
    hint = _write([rest], reads, example, f", with the zone beside it: `--timezone {place}`, in a job file `timezone:`")
    return f"a schedule names no time zone ({place}): each job has one", hint


# --- relatives of cron


def _called(text: str, reads: Reads) -> Answer:
    """`rate(5 minutes)`, `cron(0 9 * * ? *)`, `at(2026-12-24T18:00:00)`."""
    call = re.fullmatch(r"(rate|cron|at)\((.*)\)", text, re.IGNORECASE)
    if call is None:
        return None
    kind, inner = call[1].lower(), call[2].strip()
    if kind == "rate":
        inner = re.sub(r"^1 (?=minute|hour|day)", "", inner)
        return f"`{call[1]}(…)` is a schedule of AWS", _write([f"every {inner}"], reads, "every 5 minutes")
    if kind == "at":
        return f"`{call[1]}(…)` is a schedule of AWS", _write([inner], reads, "2026-12-24T18:00:00")
    fields = inner.split(" ")
    line = _plain(fields[:5]) if len(fields) == 6 else inner
    year = fields[5] if len(fields) == 6 else "*"
    return f"`{call[1]}(…)` is a schedule of AWS{_no_year(year, ', with a year')}", _write(
        [line], reads, "0 9 * * MON-FRI"
    )


def _quartz(text: str, reads: Reads) -> Answer:
    """Seconds first, `?` in a day field, perhaps a year; or with `?` and a year and no seconds, as AWS has it."""
    fields = text.split(" ")
    if len(fields) not in (6, 7) or not all(re.fullmatch(r"[0-9A-Za-z*?,/#-]+", field) for field in fields):
        return None
    if len(fields) == 6 and "?" in (fields[2], fields[4]):
        return f"this is a cron line of AWS, with a year{_no_year(fields[5])}", _write(
            [_plain(fields[:5])], reads, "0 9 * * MON-FRI"
        )
    if "?" not in (fields[3], fields[5]):
        return None
    year = fields[6] if len(fields) == 7 else "*"
    message = f"this is a cron line of Quartz, with seconds first{_no_year(year, ' and a year')}"
    if not re.fullmatch(r"0{1,2}", fields[0]):
        return (
            message,
            "write five fields without seconds; for less than a minute write, for example, `every 30 seconds`",
        )
    return message, _write([_plain(fields[1:6])], reads, "0 9 * * MON-FRI")


def _six(text: str, reads: Reads) -> Answer:
    """Six fields of which the last says what the first is: a name of a weekday, a year; or steps of seconds alone."""
    fields = text.split(" ")
    if len(fields) != 6:
        return None
    steps = re.fullmatch(r"\*/([0-9]+) \* \* \* \* \*", text)
    if steps and reads(period := f"every {steps[1]} seconds"):
        return f"{_SIX}seconds first", f"write `{period}`"
    line = " ".join(fields[1:])
    weekdays = re.fullmatch(
        r"(?:(?:SUN|MON|TUE|WED|THU|FRI|SAT)[,#-]?[0-9]?)+L?|[0-7][L#][1-5]?", fields[5], re.IGNORECASE
    )
    if weekdays and fields[0] == "0" and reads(line):
        numbers = (
            "" if re.match("[A-Z]", fields[5], re.IGNORECASE) else "; where Sunday is 1, write the day by its name"
        )
        return f"{_SIX}seconds first", f"write `{line}`{numbers}"
    if re.fullmatch(r"[0-9]{4}", fields[5]) and reads(line := " ".join(fields[:5])):
        return f"{_SIX}a year{_no_year(fields[5])}", f"write `{line}`"
    return None


def _quoted(text: str, reads: Reads) -> Answer:
    """`"0 9 * * *"` in quotes, `cron: 0 9 * * *` with its key, `0 9 * * *;` with a sign behind it."""
    bare = re.sub(r"^(?:cron|schedule) ?[:=] ?", "", text, flags=re.IGNORECASE).strip("\"'`")
    lines = [line.strip() for line in bare.rstrip(";, ").split(";")]
    if len(lines) > 1 and all(map(reads, lines)):
        return "cron lines are not joined with `;`", "write one job for each, or a phrase, which can be joined"
    if bare.rstrip(";, ") != text and reads(bare.rstrip(";, ")):
        return f"{_short(text)!r} has signs that do not belong to the schedule", f"write `{bare.rstrip(';, ')}`"
    return None


def _plain(fields: list[str]) -> str:
    """Five fields with weekdays by name, as Sunday is 1 there, and `0/15` as `*/15`."""
    minute, hour, day, month, weekday = fields
    stepped = [re.sub(r"^0/", "*/", minute), re.sub(r"^0/", "*/", hour), re.sub(r"^1/", "*/", day)]
    if not weekday.startswith("*/"):
        named = r"(?<![0-9#/])([1-7])(?![0-9])"
        weekday = re.sub(named, lambda match: _WEEKDAYS[int(match[1]) - 1], weekday)
    return " ".join([*stepped, month, weekday]).replace("?", "*")


def _no_year(year: str, words: str = "") -> str:
    return "" if year == "*" else f"{words} ({year}), which has no field here: give a phrase an end, `until …`"


def _hashed(text: str, reads: Reads) -> Answer:
    """`H 9 * * *` of Jenkins and `~ 9 * * *` of OpenBSD pick a value by themselves."""
    fields = text.split(" ")
    hashed = any(re.match(r"H(?![A-Za-z])", field) for field in fields)
    if len(fields) != 5 or not (hashed or any("~" in field for field in fields)):
        return None
    chosen = [_chosen(field, low) for field, low in zip(fields, _LOW, strict=True)]
    who = "`H` is of Jenkins: it" if hashed else "`~` is of OpenBSD's cron: it"
    hint = _write([" ".join(chosen)], reads, "7 9 * * *")
    return f"{who} picks a value by itself, and nobody could say when the job runs", f"{hint}, or with other values"


def _chosen(field: str, low: int) -> str:
    field = re.sub(r"^H(?:\([0-9]+-[0-9]+\))?/", "*/", field)
    field = re.sub(r"^H\(([0-9]+)-[0-9]+\)$", r"\1", field)
    field = re.sub(r"^H$", str(max(low, 7 if low == 0 else 1)), field) if field != "H" or low else "7"
    return re.sub(r"^([0-9]*)~[0-9]*$", lambda match: match[1] or str(low), field)


def _crontab(text: str, reads: Reads) -> Answer:
    """A line of a crontab, with its command."""
    fields = text.split(" ")
    line, command = " ".join(fields[:5]), " ".join(fields[5:])
    if text.startswith("@"):
        line, _, command = text.partition(" ")
    if not command or line.startswith("@every") or re.fullmatch(r"[0-9*?,/#LWlw-]+|[A-Za-z]{3}", command):
        return None
    if not reads(line) or not re.match(r"[0-9*@]", line):
        return None
    return (
        f"{_short(command)!r} behind the cron line is not a part of it",
        f"write `{line}`; what runs is the job's own",
    )


# --- systemd


def _systemd(text: str, reads: Reads) -> Answer:
    """`Mon..Fri 09:00`, `*-*-* 09:00:00`, `*:0/15`, `OnCalendar=…`."""
    bare = re.sub(r"^OnCalendar ?= ?", "", text, flags=re.IGNORECASE)
    clock = r"(?:[0-9*]+(?:[,/.]+[0-9]+)*)(?::[0-9*]+(?:[,/.]+[0-9]+)*){1,2}"
    form = re.fullmatch(
        rf"(?:([A-Za-z]{{3,9}}(?:(?:,|\.\.)[A-Za-z]{{3,9}})*) ?)?(?:([0-9*/,.]+-[0-9*/,.~-]+) ?)?({clock})?", bare
    )
    own = bare != text or ".." in bare or "*-" in bare or "*:" in bare
    if not own or (form is None and bare == text):
        return None
    said = [f"@{bare}", *(_systemd_said(form) if form else [])]
    return "this is a calendar event of systemd", _write(said, reads, "weekdays at 9:00")


def _systemd_said(form: re.Match[str]) -> list[str]:
    """The same as a phrase or as a cron line, as far as it is simple."""
    weekdays, day, clock = form.groups()
    on = f"every {weekdays.replace('..', '-').replace(',', ', ').lower()}" if weekdays else "every day"
    if day and (parts := re.fullmatch(rf"\*-\*-({_MIN})", day)) and not weekdays:
        on = f"day {int(parts[1])} of the month"
    elif day and (parts := re.fullmatch(rf"\*-({_MIN})-({_MIN})", day)) and not weekdays and 1 <= int(parts[1]) <= 12:
        on = f"every year on {int(parts[2])} {MONTHS[int(parts[1]) - 1].lower()}"
    elif day not in (None, "*-*-*"):
        return []
    if not clock:
        return [f"{on} at 0:00"]
    clock = re.sub(r"(:[^:]+):00$", r"\1", clock)
    if re.fullmatch(rf"{_MIN}:[0-9]{{2}}(?::[0-9]{{2}})?", clock):
        return [f"{on} at {clock}"]
    if (steps := re.fullmatch(r"\*:(?:00?|\*)(?:/([0-9]+))?", clock)) and on in ("every day", f"every {weekdays}"):
        pace = "every hour" if steps[1] is None else f"every {int(steps[1])} minutes"
        return [f"{pace} by the clock{'' if on == 'every day' else f' on {on}'}"]
    return []


# --- ISO 8601


def _iso_repeat(text: str, reads: Reads) -> Answer:
    """`R/PT1H`, `R5/2026-12-01T09:00:00Z/PT1H`, `PT30M`."""
    form = re.fullmatch(r"(?:R([0-9]*)/)?(?:([0-9]{4}-[^/]+)/)?(P[0-9WDHMSYT]+)", text, re.IGNORECASE)
    if form is None:
        return None
    number, start, period = form.groups()
    pieces = re.fullmatch(
        r"P(?:([0-9]+W))?(?:([0-9]+D))?(?:T(?:([0-9]+H))?(?:([0-9]+M))?(?:([0-9]+S))?)?", period.upper()
    )
    length = "".join(piece.lower() for piece in pieces.groups() if piece) if pieces else ""
    if number is None and start is None:
        message = f"{text!r} is a duration of ISO 8601: once after that time, or again and again"
        return message, _write([f"in {length}", f"every {length}"], reads, "every 30m")
    every = f"every {length} from {start}" if start else f"every {length}"
    counted = [f"{every}, {int(number)} times", f"{every}, {int(number) + 1} times"] if number else []
    beside = ""
    if number:
        beside = ": readers disagree on whether the first one is counted"
    return f"{text!r} is a repeating interval of ISO 8601", _write(
        counted or [every], reads, "every 1h from 08:00", beside
    )


def _iso_basic(text: str, reads: Reads) -> Answer:
    """`20261224T180000`."""
    form = re.fullmatch(
        r"([0-9]{4})([0-9]{2})([0-9]{2})T([0-9]{2})([0-9]{2})([0-9]{2})?(Z|[+-][0-9:]+)?", text, re.IGNORECASE
    )
    if form is None:
        return None
    year, month, day, hour, minute, second, offset = form.groups()
    written = f"{year}-{month}-{day}T{hour}:{minute}:{second or '00'}{(offset or '').upper()}"
    return f"{text!r} is a date without its signs", _write([written], reads, "2026-12-24T18:00:00")


# --- other dates


def _stamp(text: str, reads: Reads) -> Answer:
    """Seconds, or milliseconds, since 1970."""
    if not re.fullmatch(r"[0-9]+", text) or not _STAMP_DIGITS[0] <= len(text) <= _STAMP_DIGITS[1]:
        return None
    seconds = int(text) // (1000 if len(text) > 11 else 1)
    if seconds > 9_999_999_999:
        return None
    written = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return f"{text!r} is a number of seconds since 1970", _write([written], reads, "2026-12-24T18:00:00Z")


def _date(text: str, reads: Reads) -> Answer:
    """`24.12.2026 18:00`, `12/24/2026 6pm`, `2026/12/24 18:00`; where the day comes first is not sure."""
    form = re.fullmatch(
        rf"(?:on )?(?:([0-9]{{4}})[/.]({_MIN})[/.]({_MIN})|({_MIN})[/.]({_MIN})[/.]([0-9]{{4}}))(?:,? (.+))?", text
    )
    if form is None:
        return None
    if form[1]:
        days = [(int(form[1]), int(form[2]), int(form[3]))]
    else:
        year, first, second = int(form[6]), int(form[4]), int(form[5])
        days = (
            [(year, second, first)]
            if "." in text.split(" ", maxsplit=1)[0]
            else [(year, second, first), (year, first, second)]
        )
    rest = form[7] or "09:00"
    written = [f"{day:%Y-%m-%d} {rest}" for day in map(_day, days) if day is not None]
    if not any(map(reads, written)):
        return None
    shown = [text for text in written if reads(text)]
    twice = any(one != other for one, other in pairwise(shown))
    message = f"{_short(text)!r} could be two dates" if twice else f"{_short(text)!r} is not how dates are written here"
    return message, _write(shown, reads, "2026-12-24 18:00")


def _day(parts: tuple[int, int, int]) -> date | None:
    try:
        return date(*parts)
    except ValueError:
        return None


def _shift(text: str, reads: Reads) -> Answer:
    """`now`, `now + 1 hour`, `+30m`."""
    form = re.fullmatch(r"(?:now)? ?\+ ?(.+)", text, re.IGNORECASE)
    if form and reads(f"in {form[1]}"):
        return f"{_short(text)!r} is not how a delay is written here", f"write `in {form[1]}`"
    if text.lower() in ("now", "immediately", "asap"):
        return f"{text!r} is no schedule", "run a job at once with `horae run JOB`, or write `in 1m`"
    return None


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60]}…"
