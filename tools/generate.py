"""Write what the documents take from the code, or with `--check` say what is out of date.

A generated part stands between two comments in a page that people write:

    <!-- generated: name -->
    ...
    <!-- end -->

`PARTS` names a function for each. After writing, the lists of states are printed as a migration needs them.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from horae import errors
from horae.cli import main as cli
from horae.core import states
from horae.web.app import create_app
from horae.web.given import Given
from horae.web.rest import LACKS
from tools import railroads

# As a script it stands beside its modules, for the tests it is one of a package

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "horae"
TESTS = ROOT / "tests"
PART = re.compile(r"(<!-- generated: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
PROMISE = re.compile(r"(?:^|_)[Pp]([0-9]{1,2})(?=_|$)")


# --- states


def diagram(name: str) -> str:
    """One state table as a mermaid diagram."""
    table = states.TABLES[name]
    first = next(iter(table))
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {first}"]
    for state, events in table.items():
        lines += [f"    {state} --> {after}: {event}" for event, after in events.items()]
    lines += [f"    {state} --> [*]" for state in states.terminal(table)]
    return "\n".join([*lines, "```", ""])


def transitions(name: str) -> str:
    """One state table as a table: what each event does in each state; a blank is illegal."""
    table = states.TABLES[name]
    events = list(dict.fromkeys(event for row in table.values() for event in row))
    rows = [
        [f"`{state}`", *(f"`{row[event]}`" if event in row else "" for event in events)] for state, row in table.items()
    ]
    return grid(["state", *(f"`{event}`" for event in events)], rows)


def machine(name: str) -> str:
    """Diagram and table."""
    return f"{diagram(name)}\n{transitions(name)}"


def checks() -> list[str]:
    """The conditions that a migration must carry, one for each column whose values are a list of states."""
    lists: dict[str, Iterable[str]] = {
        "occurrence.trigger": states.TRIGGERS,
        "occurrence.state": states.OCCURRENCE,
        "occurrence.outcome": states.OUTCOMES,
        "occurrence.exception": states.EXCEPTIONS,
        "run.state": states.RUN,
        "delivery.state": states.DELIVERY,
    }
    found = [f"{column}: {column.split('.')[1]} IN ({quoted(values)})" for column, values in lists.items()]
    for name, table in states.TABLES.items():
        found.append(f"{name}, its trigger: OLD.state IN ({quoted(states.terminal(table))})")
    return found


def sql_checks() -> str:
    """The conditions, as a block."""
    return "```text\n" + "\n".join(checks()) + "\n```\n"


def quoted(values: Iterable[str]) -> str:
    """As SQL writes a list of texts."""
    return ", ".join(f"'{value}'" for value in values)


# --- the command line and the errors


def commands() -> str:
    """Every command with its arguments."""
    parts: list[str] = []
    for name, (module, what) in cli.COMMANDS.items():
        parser = cli.parser_for(name, import_module(f"horae.cli.{module}"))
        actions = parser._actions  # noqa: SLF001 - argparse has no public way to ask
        visible = [action for action in actions if action.help is not argparse.SUPPRESS]
        own = [action for action in visible if not {"--help", "--home", "--json"} & set(action.option_strings)]
        shown = [(signature(action), meaning(action)) for action in own]
        places = "".join(f" {left}" for left, _ in shown if not left.startswith("-"))
        optional = " [OPTIONS]" if any(left.startswith("-") for left, _ in shown) else ""
        parts.append(f"### `horae {name}{places}{optional}`\n\n{sentence(what)}\n")
        if shown:
            parts.append(grid(["", ""], [[f"`{left}`", right] for left, right in shown]))
    return "\n".join(parts)


def signature(action: argparse.Action) -> str:
    """How one argument is written."""
    label = action.metavar or action.dest.upper()
    if not action.option_strings:
        return f"[{label}]" if action.nargs == "?" else str(label)
    names = ", ".join(action.option_strings)
    return names if action.nargs == 0 else f"{names} {label}"


def meaning(action: argparse.Action) -> str:
    """What one argument does."""
    text = sentence(action.help or "")
    if action.choices:
        text = f"{text} One of {', '.join(f'`{choice}`' for choice in action.choices)}.".lstrip()
    return text + (" Required." if action.required and action.option_strings else "")


def error_tree() -> str:
    """Every class of the error tree."""
    rows = []
    for cls in errors.tree():
        parents = " › ".join(parent.__name__ for parent in reversed(cls.__mro__) if issubclass(parent, errors.Problem))
        rows.append([f"`{cls.code}`", str(cls.exit_status), parents, (cls.__doc__ or "").split("\n")[0]])
    return grid(["code", "exit status", "class", "meaning"], rows)


# --- the shape of the package


def layout() -> str:
    """Every module with the first sentence of its docstring."""
    lines: list[str] = []
    tops = sorted(path for path in SRC.iterdir() if is_part(path))
    for path in [*(top for top in tops if top.is_file()), *(top for top in tops if top.is_dir())]:
        if path.is_file():
            lines.append(entry("", path))
            continue
        lines.append(f"{path.name + '/':26}{theory(path / '__init__.py')}".rstrip())
        lines += [entry("  ", module) for module in sorted(path.glob("*.py")) if module.name != "__init__.py"]
    return "```text\nsrc/horae/\n" + "\n".join(lines) + "\n```\n"


def is_part(path: Path) -> bool:
    """A module, or a package of modules."""
    return (path.suffix == ".py" and path.name != "__init__.py") or (path / "__init__.py").is_file()


def entry(indent: str, path: Path) -> str:
    """One line of the layout."""
    return f"{indent + path.name:26}{theory(path)}"


def theory(path: Path) -> str:
    """The first sentence of a module's docstring."""
    text = " ".join((ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n\n")[0].split())
    return re.split(r"(?<=[.]) (?=[A-Z])", text)[0].rstrip(".:")


def layers() -> str:
    """The directions of imports, as the test holds them."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    (found,) = (contract["layers"] for contract in contracts if contract["id"] == "layers")
    there = {path.stem for path in SRC.iterdir() if is_part(path)}
    lines = []
    for layer in found:
        names = [name for name in re.findall(r"[a-z_]+", layer) if name in there]
        if names:
            lines.append(" | ".join(names))
    return "```text\n" + "\n".join(lines) + "\n```\n"


# --- promises


def promised() -> dict[int, list[str]]:
    """promise → its tests as path::name, found by the number in their names."""
    found: dict[int, list[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        for name in test_names(path):
            for number in PROMISE.findall(name):
                found.setdefault(int(number), []).append(f"{path.relative_to(ROOT).as_posix()}::{name}")
    return found


def test_names(path: Path) -> Iterator[str]:
    """The tests of a file, those in classes too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node.name


def promise_tests() -> str:
    """The tests of each promise."""
    found = promised()
    rows = [
        [f"P{number}", "<br>".join(f"`{test}`" for test in found.get(number, [])) or "none"] for number in range(1, 15)
    ]
    return grid(["promise", "tests"], rows)


# --- the grammar of phrases


def phrases() -> str:
    """Every rule of the grammar with its drawing, and what its tokens are."""
    parts: list[str] = []
    for rule in railroads.rules():
        name = railroads.named(rule.name)
        drawing = f"![{rule.name}](../images/phrases-{name}.svg)"
        parts.append(f"### {rule.name}\n\n{drawing}\n\n```text\n{railroads.written(rule)}\n```\n")
    rows = [[label, ", ".join(f"`{word}`" for word in words)] for label, words in railroads.leaves().items()]
    return "\n".join([*parts, "### tokens\n", grid(["token", "for example"], rows)])


def pictures() -> dict[Path, str]:
    """Every drawing, as it should be."""
    folder = ROOT / "docs" / "images"
    return {folder / f"phrases-{railroads.named(rule.name)}.svg": railroads.picture(rule) for rule in railroads.rules()}


# --- writing


def grid(heads: list[str], rows: Iterable[list[str]]) -> str:
    """A table."""
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    lines += [f"| {' | '.join(cell or ' ' for cell in row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def sentence(text: str) -> str:
    """With a capital and a full stop, as a document has it."""
    text = " ".join(text.split())
    if not text:
        return ""
    return text[0].upper() + text[1:] + ("" if text[-1] in ".?!" else ".")


def routes() -> str:
    """The routes of REST, by what they are about, with what they take."""
    described = interface()
    about: dict[str, list[list[str]]] = {}
    for path, methods in described["paths"].items():
        for method, found in methods.items():
            asked = [f"`{each['name']}`" for each in found.get("parameters", ()) if each["in"] == "query"]
            body = found.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            keys = described["components"]["schemas"].get(body.get("$ref", "").rsplit("/", 1)[-1], {})
            required = keys.get("required", ())
            said = [f"`{name}`{'' if name in required else '?'}" for name in keys.get("properties", ())]
            what = found.get("description", "").split("\n\n", 1)[0]
            row = [f"`{method.upper()} {path}`", sentence(what), ", ".join(asked), ", ".join(said)]
            about.setdefault(found["tags"][0], []).append(row)
    heads = ["route", "what it does", "query", "body"]
    return "\n".join(f"### {tag.capitalize()}\n\n{grid(heads, rows)}" for tag, rows in sorted(about.items()))


def lacks() -> str:
    """The use cases that REST does not have, and why."""
    return grid(["what", "why"], [[f"`{name}`", sentence(why)] for name, why in sorted(LACKS.items())])


def interface() -> dict[str, Any]:
    """REST, as it describes itself."""
    nobody: Any = None
    return create_app(Given(nobody, "", (), None, "UTC", "http://127.0.0.1:1")).openapi()


PARTS: dict[str, Callable[[], str]] = {
    "occurrence": lambda: machine("occurrence"),
    "run": lambda: machine("run"),
    "delivery": lambda: machine("delivery"),
    "checks": sql_checks,
    "commands": commands,
    "errors": error_tree,
    "layout": layout,
    "layers": layers,
    "promises": promise_tests,
    "phrases": phrases,
    "routes": routes,
    "lacks": lacks,
}


def pages() -> dict[Path, str]:
    """Every page that has a generated part, as it should be."""
    wanted: dict[Path, str] = {}
    for path in sorted((ROOT / "docs").rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        if PART.search(text):
            wanted[path] = PART.sub(lambda found: f"{found[1]}\n{PARTS[found[2]]()}\n{found[3]}", text)
    return wanted


def main() -> int:
    """Write or compare. Returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument(
        "--check", action="store_true", help="change nothing; exit 1 when a page or a picture is out of date"
    )
    only_check = parser.parse_args().check
    wanted = pages() | pictures()
    stale = [(path, text) for path, text in wanted.items() if not path.exists() or path.read_text("utf-8") != text]
    for path, text in stale:
        print(f"{path.relative_to(ROOT)} {'is out of date: `make generate`' if only_check else 'was written'}")
        if not only_check:
            path.write_text(text, encoding="utf-8")
    if only_check:
        return 1 if stale else 0
    print("\nFor migrations:", *checks(), sep="\n  ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
