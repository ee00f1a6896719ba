"""`targets`: what results and alerts can be sent to, whether it works, and a test message to see it arrive."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from horae.cli.output import Output
from horae.core.text import one_line
from horae.errors import Usage
from horae.wiring import open_house

ACTIONS = ("list", "test", "open")
SHOWN_CHARS_MAX = 1000
WORDS = {  # event of a receipt, or None → what a person is told, and its colour
    "accept": ("accepted", "green"),
    "refuse": ("refused", "red"),
    "retry": ("not taken", "red"),
    "lose": ("nobody knows whether it arrived", "yellow"),
    None: ("not sent", "red"),
}


def options_targets(parser: ArgumentParser) -> None:
    """What `targets` takes."""
    parser.add_argument(
        "action",
        nargs="?",
        choices=ACTIONS,
        default="list",
        metavar="ACTION",
        help="list: what there is, and whether it can be reached; this happens without it too; test: send a test message "
        "now; open: send again to an address that was closed",
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="test and open: a target, as a job names it")
    parser.add_argument("--message", metavar="TEXT", help="test: what the message says")


def do_targets(args: Namespace, output: Output) -> int:
    """`test` exits with 1 when not all addresses have accepted the message."""
    if args.message is not None and args.action != "test":
        raise Usage("--message goes with `targets test`", "`horae targets test NAME --message …`")
    if (args.name is None) != (args.action == "list"):
        says = "`targets list` takes no name" if args.action == "list" else f"`targets {args.action}` needs a target"
        raise Usage(says, "`horae targets` lists them; `horae targets test NAME` sends a message to one")
    house = open_house(args.home)
    if args.action == "open":
        output.change(house.call("open_target", target=args.name))
        return 0
    if args.action == "list":
        answer = house.view("app.targets", "list_targets")
        output.emit(answer, lambda: _list(answer, output))
        return 0
    house.exists()
    house.refuse_runs("targets test")
    answer = house.view("app.targettest", "send_test", target=args.name, text=args.message)
    output.emit(answer, lambda: _receipts(answer, output))
    return 0 if answer["ok"] else 1


def _list(answer: dict[str, Any], output: Output) -> None:
    rows = [
        (row["name"], row["kind"] or row["what"], ", ".join(row["addresses"]), row["problem"] or "ready")
        for row in answer["targets"]
    ]
    output.table(("TARGET", "KIND", "MEANS", "STATE"), rows, soft=(2, 3))
    for row in answer["closed"]:
        output.note(f"  closed: {one_line(row['address'], 200)}, since {row['closed_at']}: {_shown(row['reason'])}")


def _receipts(answer: dict[str, Any], output: Output) -> None:
    output.text(one_line(answer["did"], SHOWN_CHARS_MAX))
    for row in answer["receipts"]:
        words, colour = WORDS[row["event"]]
        said = row["reason"] or row["evidence"]
        shown = f": {_shown(said)}" if said else ""
        output.text(f"  {one_line(row['address'], 200)}  {output.paint(words, colour)}{shown}")


def _shown(text: str) -> str:
    return one_line(text, SHOWN_CHARS_MAX)
