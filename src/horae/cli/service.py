"""`service`: have the gateway kept running by what keeps services on this machine."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from horae.cli.output import Output
from horae.core.text import one_line
from horae.errors import Usage
from horae.wiring import load, open_house

ACTIONS = ("install", "uninstall", "status")
SHOWN_CHARS_MAX = 1000


def options_service(parser: ArgumentParser) -> None:
    """What `service` takes."""
    parser.add_argument(
        "action",
        choices=ACTIONS,
        metavar="ACTION",
        help="install: start the gateway now and at every login or boot; uninstall: stop it, and undo that; "
        "status: how it stands",
    )
    scope = parser.add_mutually_exclusive_group()
    scope.add_argument("--user", action="store_true", help="a service of yours; this is what happens without it too")
    scope.add_argument("--system", action="store_true", help="a service of the machine (as root, with systemd)")
    parser.add_argument("--dry", action="store_true", help="print what would be written and done, do nothing")


def do_service(args: Namespace, output: Output) -> int:
    """`status` exits with 1 when the service is not installed, not started by itself, or not running."""
    if args.dry and args.action == "status":
        raise Usage("--dry goes with `service install` and `service uninstall`", "`status` changes nothing anyway")
    house = open_house(args.home)
    answer = load("wiring.keeping", "keep")(house, args.action, system=args.system, dry=args.dry)
    output.emit(answer, lambda: _render(answer, output))
    return 1 if answer["problems"] else 0


def _render(answer: dict[str, Any], output: Output) -> None:
    where = f"{answer['unit']}, a service of {'the machine' if answer['scope'] == 'system' else 'yours'}"
    if answer["dry"]:
        if answer["text"] is not None:
            output.text(f"# {answer['file']}")
            output.text(answer["text"].rstrip("\n"))
        for step in answer["steps"]:
            output.text(f"$ {step}")
    elif answer["did"] is not None:
        output.text(f"{answer['did']}: {where}")
        if answer["steps"]:
            output.text(f"  file: {answer['file']}")
        for step in answer["steps"]:
            output.text(f"  ran: {step}")
    if answer["did"] is None or (answer["installed"] and not answer["dry"]):
        _stands(answer, where, output)
    for problem in answer["problems"]:
        output.text(output.paint(f"  problem: {one_line(problem, SHOWN_CHARS_MAX)}", "red"))
    for note in answer["notes"]:
        output.note(f"  note: {one_line(note, SHOWN_CHARS_MAX)}")


def _stands(answer: dict[str, Any], where: str, output: Output) -> None:
    yes = {True: "yes", False: "no", None: None}
    active = answer["active"] or "nobody knows"
    output.pairs([
        ("service", where if answer["did"] is None else None),
        ("installed", f"yes, {answer['file']}" if answer["installed"] else "no"),
        ("starts by itself", yes[answer["enabled"]]),
        ("state", output.paint(f"{active}, pid {answer['pid']}" if answer["pid"] else active,
                               "green" if answer["running"] else "yellow")),
        ("goes on after logout", yes[answer["linger"]]),
    ])  # fmt: skip
