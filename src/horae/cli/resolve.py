"""`resolve`: a person says how a run ended that nobody saw end."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from horae.cli.output import Output
from horae.wiring import open_house

WORDS = ("completed", "failed", "rerun")


def options_resolve(parser: ArgumentParser) -> None:
    """What `resolve` takes."""
    parser.add_argument("run", metavar="RUN", help="a run's id or a unique beginning of it")
    parser.add_argument(
        "--as", dest="said", required=True, choices=WORDS, help="how it ended; `rerun` has its work done again"
    )
    parser.add_argument("--reason", metavar="TEXT", help="why you are sure; kept with the run")


def do_resolve(args: Namespace, output: Output) -> int:
    """Say how it ended."""
    answer = open_house(args.home).call("resolve", run=args.run, said=args.said, reason=args.reason)
    output.change(answer)
    return 0
