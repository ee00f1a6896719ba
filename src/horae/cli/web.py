"""`web open tokens`: the dashboard, and who may come in."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from horae.cli.output import Output
from horae.core.access import ROLES
from horae.errors import Unavailable
from horae.wiring import load, open_house


def options_web(parser: ArgumentParser) -> None:
    """What `web` takes."""
    parser.add_argument("--host", metavar="H", help="the address (default: 127.0.0.1, or what config.toml says)")
    parser.add_argument("--port", type=int, metavar="N", help="the port; 0 is any that is free")
    parser.add_argument("--fd", type=int, metavar="N", help="a listening socket that was handed over by a gateway")


def do_web(args: Namespace, output: Output) -> int:
    """Serve the dashboard by itself, beside a gateway or without one."""
    house = open_house(args.home)
    house.exists()
    return load("wiring.serving", "serve_web")(house.path, fd=args.fd, host=args.host, port=args.port, echo=output.text)


def options_open(parser: ArgumentParser) -> None:
    """What `open` takes."""
    parser.add_argument("--role", choices=ROLES, default="admin", help="what its visitor may do (default: admin)")
    parser.add_argument("--name", metavar="N", help="whom it lets in (default: you)")
    parser.add_argument("--print", dest="only_print", action="store_true", help="print it, and start no browser")


def do_open(args: Namespace, output: Output) -> int:
    """A link for one visit."""
    house = open_house(args.home)
    house.exists()
    address = (house.holder or {}).get("web")
    if address is None:
        raise Unavailable("no dashboard is served for this home", "`horae up` serves one, and so does `horae web`")
    made: dict[str, Any] = house.call("make_link", name=args.name, role=args.role)
    url = f"{address}/sign-in#{made['key']}"
    output.emit({"url": url, **{key: made[key] for key in ("name", "role", "expires_at")}}, lambda: output.text(url))
    return 0
