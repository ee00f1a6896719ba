"""`skills`: which there are, what one holds, taking one in, taking one away, and whether they can be used."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from horae.cli.output import Output
from horae.core.text import one_line
from horae.errors import Usage
from horae.wiring import open_house

ACTIONS = ("list", "show", "add", "remove", "check")
SHOWN_CHARS_MAX = 1000
SHOWN_FINDINGS = 20


def options_skills(parser: ArgumentParser) -> None:
    """What `skills` takes."""
    parser.add_argument(
        "action",
        nargs="?",
        choices=ACTIONS,
        default="list",
        metavar="ACTION",
        help="list: which there are, and who uses them; this happens without it too; show: one skill with its text; add: look "
        "through a folder, and with --confirm take it in; remove: take one away; check: whether they can be used",
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="the name of a skill; of add: a folder with a SKILL.md")
    parser.add_argument("--name", dest="called", metavar="NAME", help="add: what it is to be called here")
    parser.add_argument("--replace", action="store_true", help="add: in place of the one that has this name")
    parser.add_argument("--confirm", action="store_true", help="add: do it; without it only what was found is shown")
    parser.add_argument("--force", action="store_true", help="remove: although jobs use it")


def do_skills(args: Namespace, output: Output) -> int:
    """`check` exits with 1 when one of them cannot be used."""
    _fits(args)
    house = open_house(args.home)
    if args.action == "list":
        answer = house.view("app.skills", "list_skills")
        output.emit(answer, lambda: _list(answer, output))
        return 0
    if args.action == "show":
        answer = house.view("app.skills", "show_skill", skill=args.name)
        output.emit(answer, lambda: _show(answer, output))
        return 0
    if args.action == "check":
        answer = house.view("app.skills", "check_skills", skill=args.name)
        output.emit(answer, lambda: _check(answer, output))
        return 0 if answer["ok"] else 1
    house.exists()
    house.refuse_runs(f"skills {args.action}")
    if args.action == "remove":
        output.change(house.view("app.skills", "remove_skill", skill=args.name, force=args.force))
        return 0
    given = {"folder": args.name, "called": args.called, "replace": args.replace, "confirm": args.confirm}
    output.change(house.view("app.skills", "add_skill", **given))
    return 0


def _fits(args: Namespace) -> None:
    """Raises Usage for what does not go together."""
    if args.action != "add" and (args.called is not None or args.replace or args.confirm):
        raise Usage("--name, --replace and --confirm go with `skills add`", "`horae skills add FOLDER`")
    if args.force and args.action != "remove":
        raise Usage("--force goes with `skills remove`", "`horae skills remove NAME --force`")
    if args.action == "list" and args.name is not None:
        raise Usage("`skills list` takes no name", f"`horae skills show {one_line(args.name, 80)}` shows one")
    if args.action in ("show", "add", "remove") and args.name is None:
        what = "a folder" if args.action == "add" else "a name"
        raise Usage(f"`skills {args.action}` needs {what}", "`horae skills` lists them")


def _list(answer: dict[str, Any], output: Output) -> None:
    if not answer["skills"] and not answer["absent"]:
        output.text("no skills. `horae skills add FOLDER` takes one in.")
        return
    rows = [(row["name"], row["description"] or "", _users(row["used_by"]), _state(row)) for row in answer["skills"]]
    rows += [(row["name"], "", _users(row["used_by"]), "not there") for row in answer["absent"]]
    output.table(("SKILL", "DOES", "USED BY", "STATE"), rows, soft=(1, 2, 3))


def _state(row: dict[str, Any]) -> str:
    if row["problems"]:
        return one_line(row["problems"][0], SHOWN_CHARS_MAX)
    count = len(row["warnings"])
    return f"ready, {count} {'warning' if count == 1 else 'warnings'}" if count else "ready"


def _users(names: list[str]) -> str:
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return ", ".join(names[:4]) + more or "nobody"


def _show(answer: dict[str, Any], output: Output) -> None:
    skill = answer["skill"]
    output.text(f"{skill['name']}: {one_line(skill['description'], SHOWN_CHARS_MAX)}")
    output.text(f"  folder   {one_line(skill['folder'], SHOWN_CHARS_MAX)}")
    output.text(f"  sha256   {skill['sha256']}")
    output.text(f"  used by  {_users(answer['used_by'])}")
    for key, names in skill["needs"].items():
        if names:
            output.text(f"  {'speaks of tools' if key == 'wishes' else f'needs {key}'}: {', '.join(names)}")
    for file in skill["files"]:
        output.text(f"  file     {file['path']} ({file['bytes']} bytes)")
    for found in skill["found"][:SHOWN_FINDINGS]:
        words = one_line(found["words"], SHOWN_CHARS_MAX)
        output.note(f"  {found['severity']}: {found['file']}, line {found['line']}: `{words}` ({found['family']})")
    output.text("")
    for line in skill["text"].split("\n"):
        output.text(one_line(line, SHOWN_CHARS_MAX) if not line.startswith((" ", "\t")) else _indented(line))


def _indented(line: str) -> str:
    """A line as it stands, without what would draw on the terminal."""
    said = line.lstrip(" \t")
    return " " * (len(line) - len(said)) + one_line(said, SHOWN_CHARS_MAX)


def _check(answer: dict[str, Any], output: Output) -> None:
    for row in answer["skills"]:
        bad = bool(row["problems"])
        output.text(f"{row['name']}: {output.paint('cannot be used', 'red') if bad else 'ready'}")
        for words in row["problems"]:
            output.text(f"  {one_line(words, SHOWN_CHARS_MAX)}")
        for words in row["warnings"][:SHOWN_FINDINGS]:
            output.note(f"  note: {one_line(words, SHOWN_CHARS_MAX)}")
    if not answer["skills"]:
        output.text("no skills. `horae skills add FOLDER` takes one in.")
