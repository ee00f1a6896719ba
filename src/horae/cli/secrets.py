"""`secrets`: names of what stands in no file that others see, where each has its value, and setting or dropping one.

A value is asked for without an echo, or read from standard input. It is never an argument: those can be seen by others while
a command runs, and shells keep them.
"""

from __future__ import annotations

import getpass
import sys
from argparse import SUPPRESS, ArgumentParser, Namespace
from typing import Any

from horae.cli.output import Output
from horae.core.secretname import refuse_name
from horae.errors import Usage
from horae.limits import SECRET_BYTES_MAX
from horae.wiring import open_house

ACTIONS = ("list", "set", "unset")
WORDS = {"file": "secrets.toml", "environment": "environment", "keyring": "keyring"}
SHOWN_USERS = 4
_ARGUMENT = "a value is not given as an argument: others could see it, and shells remember it"
_ASKS = "`horae secrets set NAME` asks for it; without a terminal it reads it from standard input"


def options_secrets(parser: ArgumentParser) -> None:
    """What `secrets` takes."""
    parser.add_argument(
        "action",
        nargs="?",
        choices=ACTIONS,
        default="list",
        metavar="ACTION",
        help="list: the names, where each has its value, and who uses it; this happens without it too; set: keep a value, "
        "which is asked for, or read from standard input; unset: take one away",
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="set and unset: the name, such as OPENAI_API_KEY")
    parser.add_argument("rest", nargs="*", help=SUPPRESS)
    parser.add_argument("--value", nargs="?", help=SUPPRESS)
    parser.add_argument("--keyring", action="store_true", help="set: keep it in the keyring of the operating system")


def do_secrets(args: Namespace, output: Output) -> int:
    """Nothing here ever prints a value."""
    if args.rest or args.value is not None or "=" in (args.name or ""):
        raise Usage(_ARGUMENT, _ASKS)
    if args.keyring and args.action != "set":
        raise Usage("--keyring goes with `secrets set`", "`horae secrets set NAME --keyring`")
    if (args.name is None) != (args.action == "list"):
        says = "`secrets list` takes no name" if args.action == "list" else f"`secrets {args.action}` needs a name"
        raise Usage(says, "`horae secrets` lists them; `horae secrets set NAME` keeps a value")
    house = open_house(args.home)
    if args.action == "list":
        answer = house.view("app.secrets", "list_secrets")
        output.emit(answer, lambda: _list(answer, output))
        return 0
    house.exists()
    house.refuse_runs(f"secrets {args.action}")
    if args.action == "unset":
        output.change(house.view("app.secrets", "unset_secret", secret=args.name))
        return 0
    refuse_name(args.name)  # before somebody types the value
    value = _value(args.name)
    output.change(house.view("app.secrets", "set_secret", secret=args.name, value=value, keyring=args.keyring))
    return 0


def _value(name: str) -> str:
    """From whoever is at the terminal, else all of standard input but the line's end."""
    if sys.stdin is not None and sys.stdin.isatty():
        try:
            return getpass.getpass(f"{name}: ")
        except (EOFError, UnicodeDecodeError):
            raise Usage(f"no value was given for {name}", "nothing was changed") from None
    data = b"" if sys.stdin is None else sys.stdin.buffer.read(SECRET_BYTES_MAX + 3)
    if len(data) > SECRET_BYTES_MAX + 2:
        raise Usage(f"the value of {name} has more than {SECRET_BYTES_MAX // 1024} KiB", "keep large secrets in files")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise Usage(f"the value of {name} is not text in UTF-8", "encode it, for example with base64") from None
    for end in ("\r\n", "\n"):
        if text.endswith(end):
            return text[: -len(end)]
    return text


def _list(answer: dict[str, Any], output: Output) -> None:
    if not answer["secrets"] and not answer["problems"]:
        output.text("no secrets. `horae secrets set NAME` keeps one.")
        return
    rows = [
        (row["name"], ", ".join(WORDS[place] for place in row["places"]) or "none", _users(row["used_by"]))
        for row in answer["secrets"]
    ]
    if rows:
        output.table(("SECRET", "VALUE IN", "USED BY"), rows, soft=(2,))
    if any(row["places"] and row["places"][0] == "environment" for row in answer["secrets"]):
        output.note("  environment: that of this command. A gateway has its own, from when it was started.")
    for problem in answer["problems"]:
        output.note(f"  note: {problem}")


def _users(used: list[dict[str, str]]) -> str:
    words = [row["what"] if row["what"] == row["name"] else f"{row['what']} {row['name']}" for row in used]
    more = f" and {len(words) - SHOWN_USERS} more" if len(words) > SHOWN_USERS else ""
    return ", ".join(words[:SHOWN_USERS]) + more or "nobody"
