"""`why`: what was decided about a job's slots, as a story and decision by decision."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from horae.cli.output import Output, folded, screen_width
from horae.core.decisionwords import decision_words
from horae.core.text import one_line
from horae.errors import Usage
from horae.wiring import open_house

LIMIT_MAX = 10_000
INDENT = 4
NOTHING_YET = "nothing is on record yet; `horae next` shows what is planned"
STORY_CHARS_MAX = 4000  # a decision may carry what a program printed


def options_why(parser: ArgumentParser) -> None:
    """What `why` takes."""
    parser.add_argument("job", metavar="JOB", help="id, unique prefix of one, slug, or name")
    parser.add_argument(
        "slot", metavar="SLOT", nargs="?", help="an instant, an occurrence key, or `next` (default: the latest ones)"
    )
    parser.add_argument("--limit", type=int, default=5, metavar="N", help="how many of the latest (default 5)")


def do_why(args: Namespace, output: Output) -> int:
    """Show decisions."""
    if not 1 <= args.limit <= LIMIT_MAX:
        raise Usage(f"--limit must be from 1 to {LIMIT_MAX}, not {args.limit}")
    answer = open_house(args.home).view("app.why", "why", job=args.job, slot=args.slot, limit=args.limit)

    def render() -> None:
        if answer["job"]["removed_at"] is not None:
            output.text(f"{answer['job']['slug']} was removed at {answer['job']['removed_at']}; this is on record:")
        elif answer["job"]["state"] == "completed":
            output.text(f"{answer['job']['slug']} is completed: {answer['job']['completed_reason']}")
        for item in answer["occurrences"]:
            _render(item, output)
        if not answer["occurrences"]:
            gone = answer["job"]["removed_at"] is not None
            output.text("nothing: it never had a slot" if gone else NOTHING_YET)

    output.emit(answer, render)
    return 0


def _render(item: dict[str, Any], output: Output) -> None:
    state = output.state(item["outcome"] or item["state"])
    if item["outcome"] is None and item["exception"]:
        state += {"skip": ", will be skipped", "move": f", moved to {item['due']}"}[item["exception"]]
    span = f" to {item['span']['to']}: {item['span']['count']} slots" if item["span"] else ""
    output.text(f"{item['slot']}{span}  {state}  {item['reason'] or ''}  [{item['key']}]")
    told = one_line("; ".join(item["story"]), STORY_CHARS_MAX)
    lines = folded(told, screen_width() - INDENT) if output.terminal else [told]
    for line in lines:
        output.text(f"{' ' * INDENT}{line}")
    for decision in item["decisions"]:
        output.text(
            output.paint(
                f"{' ' * INDENT}{decision['at'] or '-'}  {decision['actor']}: {decision_words(decision)}", "grey"
            )
        )
