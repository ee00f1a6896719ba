"""The options that say who hears of a job, and what they expect to hear, and how `show` tells it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from horae.timing.durations import duration_words

SAID = (  # the option, its placeholder and its help
    ("--urgency", "WORD", "what may wait while it is quiet: nothing (high), results (normal, the default), all (low)"),
    ("--expect-by", "TIME", "a run must have completed by this time of day, on days of its schedule"),
    ("--expect-every", "D", "so long after one run completed the next one must have, for example 26h"),
    ("--expect-output", "N", "after so many runs in a row that said nothing somebody is told"),
    ("--pause-after", "N", "after so many failures in a row it is paused; 0: never"),
)


def notice_options(parser: ArgumentParser) -> None:
    """Keys of a job file, as options."""
    parser.add_argument(
        "--deliver", metavar="T", action="append", help="where results go, for example telegram,ops (default local)"
    )
    parser.add_argument(
        "--alerts", metavar="T", action="append", help="where its failures are told (default: as config.toml says)"
    )
    for option, placeholder, words in SAID:
        parser.add_argument(option, metavar=placeholder, help=words)


def notice_fields(args: Namespace) -> dict[str, Any]:
    """The given options as keys of a job file; None for those that were not given."""
    targets = {"deliver": _each(args.deliver), "alerts": _each(args.alerts)}
    return targets | {key: getattr(args, key) for key in (option[2:].replace("-", "_") for option, _, _ in SAID)}


def _each(given: list[str] | None) -> list[str] | None:
    """Targets by themselves, so that the file has them as one would write them."""
    return None if given is None else [target.strip() for some in given for target in some.split(",")]


def notice_rows(job: dict[str, Any]) -> list[tuple[str, str | None]]:
    """What a job says about it, for `show`: a label and words, None for what it leaves as it is."""
    expected = [f"a run by {job['expect_by']}"] if job.get("expect_by") else []
    if job.get("expect_every_s"):
        expected.append(f"a run every {duration_words(int(job['expect_every_s']))}")
    if job.get("expect_output"):
        count = int(job["expect_output"])
        expected.append(f"something said {'by each run' if count == 1 else f'once in {count} runs'}")
    return [
        ("alerts to", ", ".join(job.get("alerts") or []) or None),
        ("origin", job.get("origin")),
        ("urgency", job["urgency"] if job.get("urgency") not in (None, "normal") else None),
        ("expected", ", ".join(expected) or None),
        ("pauses", _pauses(job.get("pause_after"))),
    ]


def _pauses(after: int | None) -> str | None:
    if after is None:
        return None
    return "never by itself" if after == 0 else f"after {after} failure{'s in a row' if after > 1 else ''}"
