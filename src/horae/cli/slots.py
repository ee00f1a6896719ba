"""`next skip move undo`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from datetime import datetime
from typing import Any

from horae.cli.jobs import pairs_of
from horae.cli.output import Output, brief
from horae.errors import Usage
from horae.wiring import open_house

ENTRY_MAX = 2**63 - 1  # what the database can count to


def options_next(parser: ArgumentParser) -> None:
    """What `next` takes."""
    parser.add_argument("job", metavar="JOB", nargs="?", help="a job; without one, what is next in the whole home")
    parser.add_argument("--schedule", metavar="S", help="a schedule that no job has")
    parser.add_argument("--timezone", metavar="TZ", help="its zone (default: the home's)")
    parser.add_argument(
        "--clock-change",
        action="append",
        metavar="K=V",
        help="with --schedule: what becomes of times that the clock skips or shows twice",
    )
    parser.add_argument("--from", dest="start", metavar="T", help="the first instant that counts (default: now)")
    parser.add_argument("-n", dest="count", type=int, default=5, metavar="N", help="how many (default 5)")


def do_next(args: Namespace, output: Output) -> int:
    """Preview slots."""
    if args.job is not None and args.schedule is not None:
        raise Usage("give a job or --schedule, not both", None)
    if args.clock_change is not None and args.schedule is None:
        raise Usage("--clock-change goes with --schedule", "`horae edit JOB --clock-change …` gives a job its own")
    if args.timezone is not None and args.schedule is None:
        raise Usage("--timezone goes with --schedule", "each job is shown in its own zone; `calendar` takes another")
    answer = open_house(args.home).view(
        "app.preview",
        "next_slots",
        job=args.job,
        schedule=args.schedule,
        timezone=args.timezone,
        clock_change=None if args.clock_change is None else pairs_of("clock_change", args.clock_change),
        start=args.start,
        count=args.count,
    )

    def render() -> None:
        if answer["meaning"]:
            output.text(f"{brief(answer['meaning'])} ({answer['timezone']})")
        if answer.get("job", {}).get("state") not in (None, "active", "completed"):
            output.note(f"these slots will not run while the job is {answer['job']['state']}")
        whole = args.job is None and args.schedule is None
        _show(
            answer["slots"],
            answer["notes"],
            output,
            "no active job has a slot ahead: `horae add` makes one" if whole else "no slots ahead",
        )
        for warning in answer.get("warnings", ()):
            output.note(f"note: {warning}")

    output.emit(answer, render)
    return 0


def _show(slots: list[dict[str, Any]], notes: list[dict[str, Any]], output: Output, empty: str) -> None:
    """Slots, and among them what the clock left out."""
    ahead = sorted(notes, key=lambda note: datetime.fromisoformat(note["at"]), reverse=True)
    for slot in slots:
        while ahead and datetime.fromisoformat(ahead[-1]["at"]) <= datetime.fromisoformat(slot["due"]):
            _left_out(ahead.pop(), output)
        output.slots([slot])
    while ahead:
        _left_out(ahead.pop(), output)
    if not slots:
        output.text(empty)


def _left_out(note: dict[str, Any], output: Output) -> None:
    job = f"{note['job']}: " if "job" in note else ""
    output.beside(f"    {'–':<{len(note['at'])}}", job + note["text"])


def options_skip(parser: ArgumentParser) -> None:
    """What `skip` takes."""
    parser.add_argument("job", metavar="JOB", help="id, unique prefix of one, slug, or name")
    parser.add_argument(
        "slot", metavar="SLOT", nargs="?", default="next", help="an instant, an occurrence key, or `next` (the default)"
    )


def do_skip(args: Namespace, output: Output) -> int:
    """Skip one slot."""
    output.change(open_house(args.home).call("skip", job=args.job, slot=args.slot))
    return 0


def options_move(parser: ArgumentParser) -> None:
    """What `move` takes."""
    parser.add_argument("job", metavar="JOB", help="id, unique prefix of one, slug, or name")
    parser.add_argument("slot", metavar="SLOT", help="an instant, an occurrence key, or `next`")
    parser.add_argument(
        "--to", required=True, metavar="WHEN", help='for example "2026-12-24T18:00", "in 2h", "tomorrow at 9am"'
    )


def do_move(args: Namespace, output: Output) -> int:
    """Move one slot."""
    output.change(open_house(args.home).call("move", job=args.job, slot=args.slot, to=args.to))
    return 0


def options_undo(parser: ArgumentParser) -> None:
    """What `undo` takes."""
    parser.add_argument(
        "entry",
        metavar="ENTRY",
        type=int,
        nargs="?",
        help="a number that a change printed (default: the newest change)",
    )


def do_undo(args: Namespace, output: Output) -> int:
    """Take a change back."""
    if args.entry is not None and not 0 < args.entry <= ENTRY_MAX:
        raise Usage(f"{args.entry} is not a number that a change printed")
    output.change(open_house(args.home).call("undo", entry=args.entry))
    return 0
