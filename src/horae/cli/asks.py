"""`waiting approve deny`: what agents ask of people."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from typing import Any

from horae.cli.output import Output
from horae.wiring import open_house

ROW_CHARS = 40  # what no row of a narrow terminal holds


def options_waiting(parser: ArgumentParser) -> None:
    """What `waiting` takes."""
    parser.add_argument("--all", action="store_true", help="also what was answered, or is of no use any more")


def do_waiting(args: Namespace, output: Output) -> int:
    """List what waits for a person's word."""
    answer = open_house(args.home).view("app.asks", "list_asks", all=args.all)

    def render() -> None:
        if not answer["asks"]:
            output.text("nothing waits for your word")
            return
        rows = [
            (
                ask["id"],
                ask["kind"],
                ask["slug"] or ask["asked_by"],
                said_of(ask),
                ask["decision"] or "open",
                ask["expires_at"] or "",
            )
            for ask in answer["asks"]
        ]
        output.table(("ID", "WHAT", "OF", "ASKS", "ANSWER", "UNTIL"), rows, soft=(3,))
        if output.terminal:  # who says yes must have seen all of it
            for row in rows:
                if len(row[3]) > ROW_CHARS and row[4] == "open":
                    output.text(f"\n{row[0]} of {row[2]}, in full:")
                    output.quoted(f"  {row[3]}")
        output.note("`horae approve ID` lets it be done, `horae deny ID` does not")

    output.emit(answer, render)
    return 0


def said_of(ask: dict[str, Any]) -> str:
    """What it asks for."""
    body: dict[str, Any] = ask["body"] or {}
    told = {key: value for key, value in body.items() if key != "digest" and value}
    if ask["kind"] == "call":
        return f"{told.get('tool', '')} {told.get('args', '')}"
    return json.dumps(told, ensure_ascii=False)


def options_approve(parser: ArgumentParser) -> None:
    """What `approve` takes."""
    _options(parser)


def options_deny(parser: ArgumentParser) -> None:
    """What `deny` takes."""
    _options(parser)


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("ask", metavar="ID", help="what waits, as `horae waiting` lists it; or a run, or a job")
    parser.add_argument("--reason", metavar="TEXT", help="why; the agent is told")


def do_approve(args: Namespace, output: Output) -> int:
    """Let it be done."""
    output.change(open_house(args.home).call("approve", ask=args.ask, reason=args.reason))
    return 0


def do_deny(args: Namespace, output: Output) -> int:
    """Let it not be done."""
    output.change(open_house(args.home).call("deny", ask=args.ask, reason=args.reason))
    return 0
