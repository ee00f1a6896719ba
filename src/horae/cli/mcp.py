"""`mcp`: the server for agents, on standard input and output."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from horae.cli.output import Output
from horae.core.access import ROLES
from horae.wiring import load, open_house


def options_mcp(parser: ArgumentParser) -> None:
    """What `mcp` takes."""
    parser.add_argument(
        "--role",
        choices=ROLES,
        default="operate",
        help="what its client may do (default: operate; jobs it makes are drafts)",
    )


def do_mcp(args: Namespace, _output: Output) -> int:
    """Serve an agent that starts this program."""
    house = open_house(args.home)
    house.exists()
    return load("wiring.mcpserver", "serve_stdio")(house.path, args.role)
