"""`apply` and `diff`: a folder of job files and scripts beside what the home has."""

from __future__ import annotations

import os
import shlex
from argparse import ArgumentParser, Namespace
from typing import Any

from horae.cli.output import Output, brief
from horae.core.text import one_line
from horae.errors import Usage
from horae.wiring import open_house

COLOURS = {"create": "green", "restore": "green", "change": "yellow", "rename": "yellow", "remove": "red"}
EFFECT_CHARS_MAX = 600
NAMED_MAX = 5


def _folder(parser: ArgumentParser) -> None:
    parser.add_argument(
        "folder", metavar="DIR", help="a folder of job files, or one with jobs/ and scripts/; it is only read"
    )


def options_apply(parser: ArgumentParser) -> None:
    """What `apply` takes."""
    _folder(parser)
    parser.add_argument("--confirm", action="store_true", help="do it; without this the plan is shown")
    parser.add_argument("--prune", action="store_true", help="remove jobs that no file of the folder stands for")
    parser.add_argument("--force", action="store_true", help="with --prune: also many jobs at once")


def do_apply(args: Namespace, output: Output) -> int:
    """Bring the home to what a folder says. Exit 1 when something was refused or is held."""
    if args.force and not args.prune:
        raise Usage("--force goes with --prune", "it removes many jobs at once")
    house = open_house(args.home)
    wanted = {**_named(args.folder), "prune": args.prune, "force": args.force}
    answer = house.call("apply", **wanted) if args.confirm else house.view("app.apply", "preview_folder", **wanted)

    def render() -> None:
        done = answer["applied"] if args.confirm else [item for item in answer["plan"] if not item["held"]]
        for item in done:
            _line(item, output)
        _left(answer, output)
        output.text(answer["did"])
        if answer["undo"]:
            output.text(f"  undo: {answer['undo']}")
        for warning in answer["warnings"]:
            output.note(f"  note: {warning}")
        if done and not args.confirm:
            options = "".join(f" {option}" for option in ("--prune", "--force") if getattr(args, option[2:]))
            output.text(f"  to do it: horae apply {shlex.quote(args.folder)}{options} --confirm")

    output.emit(answer, render)
    return 1 if answer["refused"] or answer["held"] else 0


def options_diff(parser: ArgumentParser) -> None:
    """What `diff` takes."""
    _folder(parser)
    parser.add_argument("--prune", action="store_true", help="jobs that no file of the folder stands for differ too")


def do_diff(args: Namespace, output: Output) -> int:
    """Show how they differ. Exit 1 when they do."""
    wanted = {**_named(args.folder), "prune": args.prune}
    answer = open_house(args.home).view("app.apply", "diff_folder", **wanted)

    def render() -> None:
        for item in answer["plan"]:
            _line(item, output)
            _slots(item, output)
            for line in (item["diff"] or "").splitlines():
                colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
                output.quoted(f"    {line}", colour)
        _left(answer, output)
        if answer["same"]:
            output.text(answer["did"])

    output.emit(answer, render)
    return 0 if answer["same"] else 1


def _named(folder: str) -> dict[str, Any]:
    """The folder for whoever reads it, and as this person calls it."""
    if not folder:
        raise Usage("DIR is empty", "name a folder with job files; `.` is this one")
    return {"directory": os.path.abspath(os.path.expanduser(folder)), "label": folder}


def _line(item: dict[str, Any], output: Output) -> None:
    target = one_line(item["target"], EFFECT_CHARS_MAX)
    head = f"{output.paint(item['op'], COLOURS.get(item['op']))} {target}: "
    output.text(head + one_line(f"{brief(item['effect'])} ({item['reason']})", EFFECT_CHARS_MAX))
    for warning in item["warnings"]:
        output.note(f"  note: {one_line(warning, EFFECT_CHARS_MAX)}")


def _slots(item: dict[str, Any], output: Output) -> None:
    """The next runs before and after, where they differ."""
    before, after = item["before"], item["after"]
    if after is None or before == after:
        return
    if before is not None:
        output.text("  next runs now:" if before["slots"] else "  no run ahead now")
        output.slots(before["slots"])
    output.text("  next runs then:" if after["slots"] else "  no run ahead then")
    output.slots(after["slots"])
    output.exceptions(item["exceptions"] or {})


def _left(answer: dict[str, Any], output: Output) -> None:
    """What is not done: held back, refused, or not asked for."""
    for item in answer["held"]:
        said = f"{item['target']}: {item['reason']}"
        output.text(f"{output.paint('held', 'yellow')} {one_line(said, EFFECT_CHARS_MAX)}")
    for item in answer["refused"]:
        output.text(f"{output.paint('refused', 'red')} {one_line(item['error']['message'], EFFECT_CHARS_MAX)}")
        if item["error"]["hint"]:
            output.text(f"    {one_line(item['error']['hint'], EFFECT_CHARS_MAX)}")
    only, pruned = answer["only_here"], {item["target"] for item in answer["plan"] if item["op"] == "remove"}
    if only and not pruned:
        listed = ", ".join(only[:NAMED_MAX]) + (f" and {len(only) - NAMED_MAX} more" if len(only) > NAMED_MAX else "")
        output.note(f"only here: {listed} (`--prune` is about these)")
