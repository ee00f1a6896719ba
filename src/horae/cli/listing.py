"""`horae list`: the command that people type most, so it loads only what it needs."""

from __future__ import annotations

from horae.errors import Usage
from horae.wiring import open_house

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from typing import Any

    from horae.cli.output import Output

STATES = ("active", "paused", "completed", "quarantined", "draft")
LIMIT_MAX = 10_000
SHOWN = 200
NO_GATEWAY = "no gateway is running: nothing fires until `horae up`"


def options_list(parser: ArgumentParser) -> None:
    """What `list` takes."""
    parser.add_argument("--all", action="store_true", help="completed jobs too")
    parser.add_argument("--state", choices=STATES, help="only jobs in this state")
    parser.add_argument("--limit", type=int, default=SHOWN, metavar="N", help=f"at most so many (default {SHOWN})")
    parser.add_argument("--cursor", metavar="C", help="go on behind this one")


def do_list(args: Namespace, output: Output) -> int:
    """List jobs by slug."""
    if not 1 <= args.limit <= LIMIT_MAX:
        raise Usage(f"--limit must be from 1 to {LIMIT_MAX}, not {args.limit}")
    house = open_house(args.home)
    reader = house.reader()
    answer = reader.list_jobs(all=args.all, state=args.state, limit=args.limit, cursor=args.cursor)
    reader.close()
    output.emit(answer, lambda: render(answer, args, output))
    if not house.fires:
        output.note(NO_GATEWAY)
    return 0


def render(answer: dict[str, Any], args: Namespace, output: Output) -> None:
    """The table, then what is wrong with the broken ones."""
    jobs = answer["jobs"]
    if not jobs:
        said = "no jobs. `horae add` makes one; `horae list --all` shows completed ones too."
        if args.cursor is not None or args.state is not None:
            said = (
                f"no {'more ' if args.cursor is not None else ''}jobs{f' that are {args.state}' if args.state else ''}"
            )
        output.text(said)
        return
    rows = [
        [
            job["slug"],
            job["state"],
            job["next_slot"] or "-",
            job["meaning"] or job["schedule"] or "-",
            job["last_outcome"] or "-",
            job["last_run_state"] or "-",
        ]
        for job in jobs
    ]
    heads: tuple[str, ...] = ("JOB", "STATE", "NEXT", "RUNS", "LAST", "RUN")
    if not output.terminal:  # the notes below are for terminals
        rows = [[*row, job["completed_reason"] or ""] for row, job in zip(rows, jobs, strict=True)]
        heads = (*heads, "WHY")
    output.table(heads, rows, soft=(0, 3), states=(1, 4, 5))
    for job in jobs:
        if job["problem"]:
            output.note(f"{job['slug']}: {job['problem']['message']}")
            if job["problem"]["hint"]:
                output.note(f"  {job['problem']['hint']}")
        elif job["completed_reason"] and output.terminal:
            output.note(f"{job['slug']}: completed, {job['completed_reason']}")
    if answer["cursor"]:
        state = f" --state {args.state}" if args.state else ""
        limit = f" --limit {args.limit}" if args.limit != SHOWN else ""
        output.note(f"more: horae list --cursor {answer['cursor']}{' --all' * args.all}{state}{limit}")
