"""The options that say what a run finds around it and what it may touch, and how `show` tells it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any


def running_options(parser: ArgumentParser) -> None:
    """Keys of a job file, as options."""
    parser.add_argument("--env", metavar="NAME", action="append", help="a variable of the gateway that runs may see")
    parser.add_argument(
        "--secret", metavar="NAME", action="append", help="a value of secrets.toml that runs get; may be repeated"
    )
    parser.add_argument("--workdir", metavar="DIR", help="where runs start; without it in the script's folder")
    parser.add_argument("--landlock", metavar="WORD", help="whether runs are kept out of the home: on (default), off")
    parser.add_argument(
        "--sandbox", metavar="WORD", help="a read-only system around runs: off (default), net, or strict (no network)"
    )


def running_fields(args: Namespace) -> dict[str, Any]:
    """The given options as keys of a job file; None for those that were not given."""
    keys = ("env", "workdir", "landlock", "sandbox")
    return {key: getattr(args, key) for key in keys} | {"secrets": args.secret}


def running_rows(job: dict[str, Any]) -> list[tuple[str, str | None]]:
    """What a job says about it, for `show`: a label and words, None for what it leaves as it is."""
    return [
        ("in", job.get("workdir")),
        ("sees", ", ".join(job.get("env") or []) or None),
        ("secrets", ", ".join(job.get("secrets") or []) or None),
        ("landlock", "off" if job.get("landlock") is False else None),
        ("sandbox", job["sandbox"] if job.get("sandbox") not in (None, "off") else None),
    ]
