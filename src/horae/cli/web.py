"""`web open tokens`: the dashboard, and who may come in."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from horae import config
from horae.cli.output import Output
from horae.core.access import ROLES
from horae.errors import Unavailable, Usage
from horae.wiring import House, load, open_house

ADDED, ENDED = "add", "revoke"


def options_web(parser: ArgumentParser) -> None:
    """What `web` takes."""
    parser.add_argument("--host", metavar="H", help="the address (default: 127.0.0.1, or what config.toml says)")
    parser.add_argument("--port", type=int, metavar="N", help="the port; 0 is any that is free")
    parser.add_argument("--fd", type=int, metavar="N", help="a listening socket that a gateway hands over")


def do_web(args: Namespace, output: Output) -> int:
    """Serve the dashboard by itself, beside a gateway or without one."""
    house = open_house(args.home)
    house.exists()

    def echo(address: str) -> None:
        answer = {"url": _link(house, address)["url"], "address": address}
        output.emit(answer, lambda: output.text(f"{answer['url']}\na link for one visit; Ctrl-C stops"))

    return load("wiring.serving", "serve_web")(house.path, fd=args.fd, host=args.host, port=args.port, echo=echo)


def options_open(parser: ArgumentParser) -> None:
    """What `open` takes."""
    parser.add_argument("--role", choices=ROLES, default="admin", help="what its visitor may do (default: admin)")
    parser.add_argument("--name", metavar="N", help="whom it lets in (default: you)")
    parser.add_argument("--print", dest="only_print", action="store_true", help="print it, and start no browser")


def do_open(args: Namespace, output: Output) -> int:
    """A link for one visit, opened in the browser where there is one."""
    house = open_house(args.home)
    house.exists()
    address = house.served_at()
    if address is None:
        raise Unavailable("no dashboard is served for this home", "`horae up` serves one, and so does `horae web`")
    made = _link(house, address, name=args.name, role=args.role)

    def render() -> None:
        if (
            not args.only_print
            and output.terminal
            and load("runners.browsing", "open_browser")(made["url"], config.environment())
        ):
            output.text(f"opened the dashboard at {address}, as {made['name']}")
            return
        output.text(made["url"])
        output.note(f"a link for one visit, good until {made['expires_at']}, as {made['name']} ({made['role']})")

    output.emit(made, render)
    return 0


def _link(house: House, address: str, **args: object) -> dict[str, Any]:
    made: dict[str, Any] = house.call("make_link", **args)
    outside = house.home.settings.link
    told = {key: made[key] for key in ("name", "role", "expires_at")}
    return {"url": f"{outside or address}/sign-in#{made['key']}", "address": address, **told}


def options_tokens(parser: ArgumentParser) -> None:
    """What `tokens` takes."""
    parser.add_argument("what", choices=("list", ADDED, ENDED), nargs="?", default="list", help="(default: list)")
    parser.add_argument("name", nargs="?", metavar="NAME", help="of the token; to revoke one, its id will do")
    parser.add_argument(
        "--role", choices=ROLES, help="what it may do: look, steer, or change definitions (default: read)"
    )
    parser.add_argument("--days", type=int, metavar="N", help="how long it is good (default: until it is revoked)")
    parser.add_argument("--all", action="store_true", help="also those that are good no more")


def do_tokens(args: Namespace, output: Output) -> int:
    """List, make and revoke tokens of programs."""
    house = open_house(args.home)
    if args.what == "list":
        if args.name or args.role or args.days:
            raise Usage("`tokens list` takes only --all", "`horae tokens add NAME --role …` makes one")
        _list(house, output, all=args.all)
        return 0
    if not args.name:
        raise Usage(f"`tokens {args.what}` takes a name", f"for example `horae tokens {args.what} ci`")
    if args.what == ENDED:
        if args.role or args.days:
            raise Usage("`tokens revoke` takes only a name or an id", None)
        output.change(house.call("end_token", token=args.name))
        return 0
    made = house.call("add_token", name=args.name, role=args.role or "read", days=args.days)

    def render() -> None:
        output.text(made["token"])
        output.note(f"{made['did']}. Keep it where its program finds it.")

    output.emit(made, render)
    return 0


def _list(house: House, output: Output, *, all: bool) -> None:
    answer = house.view("app.access", "list_credentials", all=all)

    def render() -> None:
        rows = [
            (one["name"], one["kind"], one["role"], one["id"], one["made_at"], one["used_at"] or "never", _until(one))
            for one in answer["credentials"]
        ]
        if not rows:
            output.text("nobody may come in; `horae open` makes a link, `horae tokens add NAME` a token")
            return
        output.table(("NAME", "KIND", "ROLE", "ID", "MADE", "USED", "GOOD UNTIL"), rows, soft=(0,))

    output.emit(answer, render)


def _until(one: dict[str, Any]) -> str:
    if one["ended_at"]:
        return f"ended {one['ended_at']}"
    return one["expires_at"] or "revoked"
