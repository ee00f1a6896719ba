"""What config.toml says about delivery, read into values: whom to reach, when not, and what of trouble is told to whom.

    [platforms.NAME] [targets]    see `core/platformform.py`
    [alerts]                      to, fallback, remind, pause_after
    [quiet]                       hours, timezone, digest
    [heartbeat]                   url, every
    [delivery]                    give_up
    link                          where people reach the dashboard

Errors name the key in full; whoever reads the file puts its name before it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from horae.core.delivery import GIVE_UP_S, Alerts, Heartbeat, Platform, Quiet
from horae.core.platformform import MEMBERS_MAX, names_of, platforms_of
from horae.core.quiet import WHOLE_DAY, minutes_of
from horae.core.settingvalues import duration, table, targets, text, whole, wrong
from horae.core.target import Directory, resolve_all
from horae.errors import Invalid
from horae.timing.zones import zone

TABLES = ("platforms", "targets", "alerts", "quiet", "heartbeat", "link", "delivery")
"""The keys of config.toml that are read here."""
DAY_S = 86_400
GIVE_UP_MIN_S, GIVE_UP_MAX_S = 60, 30 * DAY_S
REMIND_MIN_S, REMIND_MAX_S = 60, 365 * DAY_S
BEAT_MIN_S, BEAT_MAX_S = 10, DAY_S
PAUSE_AFTER_MAX = 1000
HOURS_MAX = 50
URL_CHARS_MAX = 2000
NEVER = "never"
_TIME = re.compile(r"([0-9]{1,2}):([0-9]{2})")
_HOURS = re.compile(r"([0-9]{1,2}:[0-9]{2})\s*(?:-|–|to)\s*([0-9]{1,2}:[0-9]{2})")
_LINK = re.compile(r"(?i:https?)://(?:\[[0-9A-Fa-f:.]+\]|[^\s/?#@:\[\]]+)(?::[0-9]{1,5})?(?:/[^\s?#@]*)?")
_PINGED = re.compile(r"(?:(?i:https?)://[^\s/?#]|\{[A-Z][A-Z0-9_]*\})\S*")  # all of it may be a secret's value


@dataclass(frozen=True, slots=True)
class Delivery:
    """All of it, under the names that the settings have for it."""

    platforms: dict[str, Platform] = field(default_factory=dict[str, Platform])
    targets: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    alerts: Alerts = field(default_factory=Alerts)
    quiet: Quiet | None = None
    heartbeat: Heartbeat | None = None
    link: str | None = None
    give_up_s: float = GIVE_UP_S


def delivery_of(values: Mapping[str, Any], timezone: str) -> Delivery:
    """What these values of config.toml say; `timezone` is the home's. Raises Invalid with `key`."""
    platforms = platforms_of(values.get("platforms", {}))
    names = names_of(values.get("targets", {}), platforms)
    return Delivery(
        platforms=platforms,
        targets=names,
        alerts=_alerts(values.get("alerts", {}), Directory(platforms, names)),
        quiet=_quiet(values["quiet"], timezone) if "quiet" in values else None,
        heartbeat=_heartbeat(values["heartbeat"]) if "heartbeat" in values else None,
        link=_link(values["link"]) if "link" in values else None,
        give_up_s=_give_up(values.get("delivery", {})),
    )


def _alerts(value: object, directory: Directory) -> Alerts:
    given = table("alerts", value, ("to", "fallback", "remind", "pause_after"), 'write [alerts] and below it to = "…"')
    to = targets("alerts.to", given["to"], MEMBERS_MAX) if "to" in given else ()
    fallback = text("alerts.fallback", given["fallback"], "one target, in quotes") if "fallback" in given else None
    _reachable("alerts.to", to, directory)
    _reachable("alerts.fallback", () if fallback is None else (fallback,), directory)
    remind: float | None = Alerts().remind_s
    if "remind" in given:
        never = given["remind"] == NEVER
        remind = None if never else _remind(given["remind"])
    pause = whole("alerts.pause_after", given["pause_after"], 1, PAUSE_AFTER_MAX) if "pause_after" in given else None
    return Alerts(to, fallback, remind, pause)


def _remind(value: object) -> float:
    try:
        return duration("alerts.remind", value, REMIND_MIN_S, REMIND_MAX_S)
    except Invalid as error:
        raise wrong("alerts.remind", error.message, error.hint or "write a duration such as 1d, or never") from error


def _reachable(key: str, given: tuple[str, ...], directory: Directory) -> None:
    try:
        resolve_all(given, directory)
    except Invalid as error:
        raise wrong(key, error.message, error.hint) from error


def _quiet(value: object, timezone: str) -> Quiet:
    given = table("quiet", value, ("hours", "timezone", "digest"), 'write [quiet] and below it hours = ["22:00-07:00"]')
    if not given.get("hours") and "digest" not in given:
        raise wrong("quiet", "has no hours and no digest", 'give it hours = ["22:00-07:00"], or leave it out')
    place = text("quiet.timezone", given["timezone"], "an IANA zone") if "timezone" in given else timezone
    try:
        zone(place)
    except Invalid as error:
        raise wrong("quiet.timezone", error.message, error.hint) from error
    hours = _hours_list(given.get("hours", []))
    digest = None
    if "digest" in given:
        digest = _minute(given["digest"])
        if digest is None or digest == 1440:
            raise wrong("quiet.digest", "must be a time of day", 'write it in quotes: digest = "08:00"')
    return Quiet(place, hours, digest)


def _hours_list(value: object) -> tuple[tuple[int, int], ...]:
    items = cast("list[object]", value) if isinstance(value, list) else [None]
    if len(items) > HOURS_MAX:
        raise wrong("quiet.hours", f"has more than {HOURS_MAX} times")
    hours = tuple(_hours(item) for item in items)
    if minutes_of(hours) == WHOLE_DAY:
        says = "cover the whole day: nothing but what is urgent would ever go out"
        raise wrong("quiet.hours", says, "leave some time free, or give platforms quiet = false")
    return hours


def _hours(item: object) -> tuple[int, int]:
    hint = 'write hours = ["22:00-07:00"]; the end is free again, and 24:00 is the end of the day'
    if not isinstance(item, str):
        raise wrong("quiet.hours", 'must be a list of times of day such as "22:00-07:00"', hint)
    found = _HOURS.fullmatch(item.strip())
    first, last = (_minute(found[1]), _minute(found[2])) if found else (None, None)
    if first is None or last is None or first == 1440:
        raise wrong("quiet.hours", f"cannot read {item[:60]!r}", hint)
    if first == last:
        raise wrong("quiet.hours", f"{item[:60]!r} is the whole day", hint)
    return first, last


def _minute(value: object) -> int | None:
    """The minute of the day of a time such as 08:00; None for what is none."""
    found = _TIME.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None or int(found[2]) > 59:
        return None
    minute = int(found[1]) * 60 + int(found[2])
    return minute if minute <= 1440 else None


def _heartbeat(value: object) -> Heartbeat:
    given = table("heartbeat", value, ("url", "every"), 'write [heartbeat] and below it url = "https://…"')
    if "url" not in given:
        raise wrong(
            "heartbeat.url", "is missing", 'write url = "https://…": what is asked as long as the gateway is well'
        )
    url = text("heartbeat.url", given["url"], "a URL")
    if len(url) > URL_CHARS_MAX or not url.isprintable() or not _PINGED.fullmatch(url):
        hint = "it begins with https:// or http:// and has no blanks; a secret may stand in it as {NAME}"
        raise wrong("heartbeat.url", "must be a URL of http or https", hint)
    return Heartbeat(url, duration("heartbeat.every", given.get("every", "1m"), BEAT_MIN_S, BEAT_MAX_S))


def _link(value: object) -> str:
    link = text("link", value, "a URL, in quotes").rstrip("/")
    if len(link) > URL_CHARS_MAX or not link.isprintable() or not _LINK.fullmatch(link):
        hint = "write it as https://horae.example.org, without a name or password, ? or # in it"
        raise wrong("link", "must be the address of the dashboard, of http or https", hint)
    return link


def _give_up(value: object) -> float:
    given = table("delivery", value, ("give_up",), 'write [delivery] and below it give_up = "1d"')
    return duration("delivery.give_up", given["give_up"], GIVE_UP_MIN_S, GIVE_UP_MAX_S) if given else GIVE_UP_S
