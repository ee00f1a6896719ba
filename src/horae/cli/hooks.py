"""`hooks`: by which addresses others start jobs, and a call to see it work."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from horae.cli.output import Output
from horae.core.text import one_line
from horae.errors import Unavailable, Usage
from horae.wiring import load, open_house

ACTIONS = ("list", "test")
SHOWN_CHARS_MAX = 1000


def options_hooks(parser: ArgumentParser) -> None:
    """What `hooks` takes."""
    parser.add_argument(
        "action",
        nargs="?",
        choices=ACTIONS,
        default="list",
        metavar="ACTION",
        help="list: what there is, where it is called and what is wrong with it; this happens without it too; test: sign a "
        "call, and send it to this home's own gateway",
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="test: the hook")
    parser.add_argument("--data", metavar="TEXT", help="test: what the call says; an empty JSON object without it")


def do_hooks(args: Namespace, output: Output) -> int:
    """`test` exits with 1 when the call was not taken."""
    if (args.name is None) != (args.action == "list"):
        says = "`hooks list` takes no name" if args.action == "list" else "`hooks test` needs a hook"
        raise Usage(says, "`horae hooks` lists them; `horae hooks test NAME` calls one")
    if args.data is not None and args.action != "test":
        raise Usage("--data goes with `hooks test`", "`horae hooks test NAME --data …`")
    house = open_house(args.home)
    served = house.served_at() if house.cluster or house.holder is not None else None
    if args.action == "list":
        answer = house.view("app.hooks", "list_hooks")
        answer["address"] = served
        output.emit(answer, lambda: _list(answer, output))
        return 0
    house.exists()
    house.refuse_runs("hooks test")
    if served is None:
        raise Unavailable("nothing serves this home's hooks", '`horae up` does, unless [web] says `serve = "off"`')
    sent = load("wiring.hooktest", "send")(house.home, args.name, args.data if args.data is not None else "{}", served)
    output.emit(sent, lambda: _sent(sent, output))
    return 0 if sent["ok"] else 1


def _list(answer: dict[str, Any], output: Output) -> None:
    if not answer["hooks"]:
        output.text("no hooks: [hooks.NAME] in config.toml makes one")
        return
    at = answer["address"] or ""
    rows = [
        (
            row["name"],
            row["kind"],
            ", ".join(row["jobs"]),
            f"{at}{row['path']}",
            row["last_call"] or "never",
            "; ".join(row["problems"]) or "ready",
        )
        for row in answer["hooks"]
    ]
    output.table(("HOOK", "KIND", "JOBS", "ADDRESS", "LAST CALL", "STATE"), rows, soft=(2, 5))


def _sent(answer: dict[str, Any], output: Output) -> None:
    output.text(f"{answer['url']} answered {answer['status']}")
    for run in answer["answer"].get("runs", ()):
        output.text(f"  {run['job']}: run {run['run_id']}")
    for drop in answer["answer"].get("dropped", ()):
        output.text(f"  {drop['job']}: no run: {one_line(drop['reason'], SHOWN_CHARS_MAX)}")
    if not answer["ok"]:
        output.text(f"  {one_line(str(answer['answer'].get('detail', '')), SHOWN_CHARS_MAX)}")
