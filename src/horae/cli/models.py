"""`model`: which models there are and who uses them, another default, other models for jobs."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from horae.cli.output import Output
from horae.core.text import one_line
from horae.errors import Usage
from horae.wiring import House, open_house

ACTIONS = ("list", "use")
SHOWN_MAX = 50  # jobs in a list on a screen
CHARS_MAX = 400


def options_model(parser: ArgumentParser) -> None:
    """What `model` takes."""
    parser.add_argument(
        "action",
        nargs="?",
        choices=ACTIONS,
        default="list",
        metavar="ACTION",
        help="list: providers, models, and which jobs use them; this happens without it too; use: the model of new jobs, or "
        "of the jobs that are named",
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="use: a model of config.toml")
    parser.add_argument("jobs", nargs="*", metavar="JOB", help="use: jobs that are moved to it")
    parser.add_argument("--all", action="store_true", help="use: move every job that does not name its model itself")
    parser.add_argument(
        "--global", dest="everywhere", action="store_true", help="use: the default of everything, not of jobs alone"
    )
    parser.add_argument("--confirm", action="store_true", help="use: do it; without this, what would be done is shown")


def do_model(args: Namespace, output: Output) -> int:
    """Nothing is changed without --confirm."""
    if args.action == "list":
        if args.name is not None or args.all or args.everywhere or args.confirm:
            raise Usage(
                "`model list` takes no name and none of these options", "`horae model use NAME` chooses a model"
            )
        answer = open_house(args.home).view("app.models", "list_models")
        output.emit(answer, lambda: _list(answer, output))
        return 0
    if args.name is None:
        raise Usage("`model use` needs a model", "`horae model` lists them; `horae model use NAME`")
    if args.jobs and args.all:
        raise Usage("name jobs, or say --all", "`horae model use NAME JOB …`, or `horae model use NAME --all`")
    if args.everywhere and (args.jobs or args.all):
        raise Usage("--global is for the default, and jobs are named here", "leave out one of them")
    house = open_house(args.home)
    house.exists()
    if args.confirm:
        house.refuse_runs("model use")
    chosen = {"model": args.name, "everywhere": args.everywhere}
    answer = house.view("app.models", "plan_use", jobs=args.jobs, all=args.all, **chosen)
    if args.confirm and answer["plan"]:
        done = _carried_out(house, answer["plan"], chosen)
        answer |= {**done, "warnings": [*answer["warnings"], *done["warnings"]]}
    output.emit(answer, lambda: _shown(answer, output, confirmed=args.confirm))
    return 0


def _carried_out(house: House, plan: list[dict[str, Any]], chosen: dict[str, Any]) -> dict[str, Any]:
    """The settings are written here, where they were read just now; the jobs are moved by the gateway if there is one."""
    if any(step["op"] == "default" for step in plan):
        house.view("app.models", "set_default", **chosen)
    return house.call("use_model", model=chosen["model"], steps=plan)


def _list(answer: dict[str, Any], output: Output) -> None:
    if not answer["models"]:
        output.text("no models. Write [providers.NAME] and [models.NAME] into config.toml: docs/guide/models.md.")
    else:
        rows = [(row["name"], row["provider"], row["id"], _price(row), row["jobs"] or "") for row in answer["models"]]
        output.table(("MODEL", "PROVIDER", "ID", "PRICE", "JOBS"), rows, soft=(2,))
        output.text(f"  new jobs get {answer['default'] or 'none: `horae model use NAME --confirm` chooses one'}")
    for row in answer["providers"]:
        for problem in row["problems"]:
            output.note(f"  note: provider {row['name']}: {problem}")
    if answer["jobs"]:
        output.text("")
        shown = answer["jobs"][:SHOWN_MAX]
        rows = [(row["slug"], row["model"] or "none", _source(row["source"]), row["problem"] or "") for row in shown]
        output.table(("JOB", "MODEL", "FROM", "PROBLEM"), rows, soft=(3,))
        _more(len(answer["jobs"]), output)


def _price(row: dict[str, Any]) -> str:
    if row["input"] is None:
        return "not known"
    return f"${row['input']:g} in, ${row['output']:g} out"


def _source(source: str | None) -> str:
    return {"pin": "its file", "frozen": "when it was made", None: "nowhere"}[source]


def _more(count: int, output: Output) -> None:
    if count > SHOWN_MAX:
        output.text(f"  … and {count - SHOWN_MAX} more (`--json` tells them all)")


def _shown(answer: dict[str, Any], output: Output, *, confirmed: bool) -> None:
    output.text(one_line(answer["did"], CHARS_MAX))
    steps = answer["applied"] if confirmed else answer["plan"]
    for step in steps[:SHOWN_MAX]:
        output.text(f"  {step['target']}: {step['before'] or 'none'} → {step['after']}")
    _more(len(steps), output)
    if answer["unaffected"]:
        output.text("  not affected:")
        for row in answer["unaffected"][:SHOWN_MAX]:
            output.beside(f"    {row['slug']} uses {row['model']}, from {_source(row['source'])}", f"(`{row['way']}`)")
        _more(len(answer["unaffected"]), output)
    if answer["plan"] and not confirmed:
        output.text("  nothing was changed: say it again with --confirm")
    if answer["undo"]:
        output.text(f"  undo: {answer['undo']}")
    for warning in answer["warnings"]:
        output.note(f"  note: {one_line(warning, CHARS_MAX)}")
