"""`incidents`, `ack`, `resend`: what goes wrong again and again, and what reached nobody."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from horae.cli.output import Output
from horae.errors import Invalid, Usage
from horae.timing.durations import parse_duration
from horae.wiring import open_house

LIMIT_MAX = 10_000
SHOWN = 200


def options_incidents(parser: ArgumentParser) -> None:
    """What `incidents` takes."""
    parser.add_argument("job", metavar="JOB", nargs="?", help="only incidents of this job")
    parser.add_argument("--all", action="store_true", help="those too that are over")
    parser.add_argument("--limit", type=int, default=SHOWN, metavar="N", help=f"at most so many (default {SHOWN})")


def do_incidents(args: Namespace, output: Output) -> int:
    """List what goes wrong again and again."""
    if not 1 <= args.limit <= LIMIT_MAX:
        raise Usage(f"--limit must be from 1 to {LIMIT_MAX}, not {args.limit}")
    answer = open_house(args.home).view("app.incidents", "list_incidents", job=args.job, all=args.all, limit=args.limit)

    def render() -> None:
        if not answer["incidents"]:
            output.text(
                "no incidents" if args.all else "no open incidents. `horae incidents --all` shows those that are over."
            )
            return
        rows = [
            (
                each["id"],
                each["state"],
                each["slug"],
                each["kind"],
                each["count"],
                each["says"],
                each["last_at"],
                each["told_at"] or "nobody yet",
            )
            for each in answer["incidents"]
        ]
        heads = ("INCIDENT", "STATE", "JOB", "KIND", "TIMES", "CAUSE", "LAST", "TOLD")
        output.table(heads, rows, soft=(2, 5), states=(1, 3))
        if any(each["state"] == "open" for each in answer["incidents"]):
            output.note("`horae ack INCIDENT` ends its reminders; `--snooze 4h` puts them off")

    output.emit(answer, render)
    return 0


def options_ack(parser: ArgumentParser) -> None:
    """What `ack` takes."""
    parser.add_argument("incident", metavar="ID", help="an incident's id, or a unique beginning of it")
    parser.add_argument("--snooze", metavar="FOR", help="only for so long, such as 4h: then it is told again")


def do_ack(args: Namespace, output: Output) -> int:
    """Be reminded of an incident no more."""
    snooze = None
    if args.snooze is not None:
        try:
            snooze = parse_duration(args.snooze)
        except Invalid as error:
            raise Usage(f"--snooze: {error.message}", error.hint) from error
    output.change(open_house(args.home).call("ack", incident=args.incident, snooze_s=snooze))
    return 0


def options_resend(parser: ArgumentParser) -> None:
    """What `resend` takes."""
    parser.add_argument("run", metavar="RUN", help="a run's id or a unique beginning of it")
    parser.add_argument(
        "target", metavar="TARGET", nargs="?", help="only to this one; else to all that it did not reach"
    )


def do_resend(args: Namespace, output: Output) -> int:
    """Send what a run said anew, to whom it did not reach."""
    output.change(open_house(args.home).call("resend", run=args.run, target=args.target))
    return 0
