"""The options that say what becomes of a job's slots, and how `show` tells it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from horae.errors import Usage
from horae.timing.durations import duration_words

SAID = (  # plain values: the option, its placeholder and its help
    ("--starts", "DAY", "no slot before this day or instant, for example 2026-12-01"),
    ("--ends", "DAY", "no slot after this day or instant; the day is included"),
    ("--spread", "D", "slots are due by a fixed part of this later, for example 5m"),
    ("--catch-up", "WORD", "what becomes of slots that nothing started in time: skip, once (default) or all"),
    ("--not-later-than", "D", "a slot that is later than this is missed, for example 2h"),
    ("--overlap", "WORD", "a slot while a run is live: skip (default), queue_one, queue, cancel_running or allow"),
    ("--group", "NAME", "a concurrency group; its limit is in config.toml"),
    ("--priority", "N", "from -100 to 100; higher first among what is due"),
)
LISTED = (
    ("--exclude", "CALENDAR", "an exclusion calendar of config.toml; may be repeated"),
    ("--runs-on", "LABEL", "a label that a gateway must have; may be repeated"),
)
RETRIES = "3,backoff=30s,ceiling=10m,on=failure+timeout"


def policy_options(parser: ArgumentParser) -> None:
    """Keys of a job file, as options."""
    for option, placeholder, words in SAID:
        parser.add_argument(option, metavar=placeholder, help=words)
    for option, placeholder, words in LISTED:
        parser.add_argument(option, metavar=placeholder, action="append", help=words)
    parser.add_argument("--retries", metavar="N", help=f"how often a known failure is tried again: {RETRIES}")


def policy_fields(args: Namespace) -> dict[str, Any]:
    """The given options as keys of a job file; None for those that were not given."""
    keys = [option[2:].replace("-", "_") for option, _, _ in (*SAID, *LISTED)]
    fields: dict[str, Any] = {key: getattr(args, key) for key in keys}
    return fields | {"retries": None if args.retries is None else retries_of(args.retries)}


def retries_of(text: str) -> dict[str, str]:
    """`3,backoff=30s` as a mapping. Raises Usage."""
    found: dict[str, str] = {}
    for place, part in enumerate(text.split(",")):
        name, equals, value = part.partition("=")
        if not equals and place == 0:
            name, value = "max", part
        if not value.strip() or (place and not equals) or name.strip() in found:
            hint = f"for example --retries {RETRIES}; `horae edit JOB --unset retries` takes it away"
            raise Usage(f"--retries {text!r}: {part!r} is not KEY=VALUE, or comes twice", hint)
        found[name.strip()] = value.strip()
    return found


def policy_rows(job: dict[str, Any]) -> list[tuple[str, str | None]]:
    """What a job says about its slots, for `show`: a label and words, None for what it leaves as it is."""
    late = [job["catch_up"]] if job.get("catch_up") not in (None, "once") else []
    if job.get("not_later_than_s"):
        late.append(f"at most {duration_words(int(job['not_later_than_s']))} late")
    return [
        ("from", job.get("starts")),
        ("until", job.get("ends")),
        ("excluded", ", ".join(job.get("exclude") or []) or None),
        ("spread", f"up to {duration_words(int(job['spread_s']))} after the slot" if job.get("spread_s") else None),
        ("catch-up", ", ".join(late) or None),
        ("overlap", job["overlap"] if job.get("overlap") not in (None, "skip") else None),
        ("retries", _retries(job.get("retries") or {})),
        ("group", job.get("group")),
        ("priority", str(job["priority"]) if job.get("priority") else None),
        ("runs on", ", ".join(job.get("runs_on") or []) or None),
    ]


def _retries(retries: dict[str, Any]) -> str | None:
    if not retries.get("max"):
        return None
    words = [str(retries["max"])]
    words += [f"first after {duration_words(int(retries['backoff_s']))}"] if retries.get("backoff_s") else []
    words += [f"at most {duration_words(int(retries['ceiling_s']))} apart"] if retries.get("ceiling_s") else []
    return ", ".join([*words, f"on {' and '.join(retries['on'])}"] if retries.get("on") else words)
