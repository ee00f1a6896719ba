"""What the code has, the reference has, and the other way round."""

from __future__ import annotations

import ast
import json
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from horae import limits, settings
from horae.core import fieldforms, fieldmaps, states
from horae.engine import orders
from horae.store.migrate import migrate
from tests.docs.console import Session
from tools import generate

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "horae"
SOURCES = sorted(SRC.rglob("*.py"))


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def first_cells(text: str) -> list[str]:
    """What stands in backquotes in the first cell of each row."""
    rows = re.findall(r"^\| (`.*?`) \|", text, re.MULTILINE)
    return [word for row in rows for word in re.findall(r"`([^`]+)`", row)]


def section(text: str, head: str) -> str:
    return re.split(r"^## ", text.split(f"## {head}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def test_every_setting_is_documented() -> None:
    text = page("reference/config.md")
    assert first_cells(text) == list(settings.KEYS)
    example = (SRC / "example" / "config.toml").read_text(encoding="utf-8")
    assert re.findall(r"^# (\w+) = ", example, re.MULTILINE) == list(settings.KEYS)
    assert f"| {limits.PARALLEL_DEFAULT} |" in text
    assert f"| {limits.DRAIN_S:.0f} s |" in text


def test_every_key_of_a_job_file_is_documented() -> None:
    keys = section(page("guide/job-files.md"), "Keys")
    entries = [entry for known in fieldmaps.FIELD_MAPS.values() for entry in known.entries]
    assert sorted(first_cells(keys)) == sorted([*fieldforms.ORDER, *entries])


def test_every_variable_is_documented() -> None:
    text = page("reference/environment.md")
    used = {name for path in SOURCES for name in re.findall(r"\"(HORAE_[A-Z_]+)\"", path.read_text(encoding="utf-8"))}
    assert set(re.findall(r"`(HORAE_[A-Z_]+)`", text)) == used
    assert set(orders.PASSED) <= set(re.findall(r"`(\w+)`", section(text, "Of a run")))
    asked = re.findall(r"environ\.get\(\"(\w+)\"\)", (SRC / "config.py").read_text(encoding="utf-8"))
    own = first_cells(section(text, "Of the command line and the gateway"))
    assert set(asked) <= set(own) | {"TERM"}


# --- the journal

RUN_ENDINGS = {states.target(states.RUN, event) for event in ("complete", "fail", "cancel", "lose", "block")}
COMPUTED = {  # file and expression → the words that it can be; whoever writes a new one says so here
    ("store/claimwrites.py", "outcome"): {"skipped", "missed", "blocked", "void", "ran"},
    ("store/plan.py", "outcome"): {"skipped", "void", "ran"},
    ("store/ledger.py", "target(RUN, end.ending.event)"): RUN_ENDINGS,
    ("store/ledger.py", "outcome"): {"void", "ran"},
    ("store/outbox.py", "what"): {"delivery_retried", *states.DELIVERY["sending"].values()} - {"pending"},
    ("app/pausing.py", "what"): {"paused_all", "resumed_all"},
}


def journaled() -> Iterator[tuple[str, ast.expr, ast.AST]]:
    """Each call that appends to the journal: file, first argument, the function around it."""
    for path in SOURCES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for function in ast.walk(tree):
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            for node in ast.walk(function):
                if (
                    isinstance(node, ast.Call)
                    and isinstance(node.func, ast.Attribute)
                    and node.func.attr == "append"
                    and any(keyword.arg == "actor" for keyword in node.keywords)
                ):
                    yield path.relative_to(SRC).as_posix(), node.args[0], function


def words(file: str, given: ast.expr, function: ast.AST) -> set[str]:
    """The words that one call can append."""
    if isinstance(given, ast.Constant):
        return {str(given.value)}
    source = ast.unparse(given)
    if (file, source) in COMPUTED:
        return COMPUTED[file, source]
    values = [
        node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == source
    ]
    found = {text for value in values for text in texts(value)}
    assert found, f"{file} appends {source}: say in COMPUTED which words that can be"
    return found


def texts(value: ast.expr) -> set[str]:
    """The texts that an assigned value can be."""
    if isinstance(value, ast.Subscript):  # a mapping from kinds to words
        value = value.value
    if isinstance(value, ast.Dict):
        parts = value.values
    elif isinstance(value, ast.IfExp):
        parts = [value.body, value.orelse]
    else:
        parts = [value]
    return {str(part.value) for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)}


def test_every_word_of_the_journal_is_documented() -> None:
    written = set[str]().union(*(words(*call) for call in journaled()))
    assert set(first_cells(page("reference/journal.md"))) == written


# --- the database


@pytest.fixture
def schema(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    db = sqlite3.connect(tmp_path / "runtime.db", isolation_level=None)
    migrate(db, "runtime.db")
    yield db
    db.close()


def test_every_table_is_documented(schema: sqlite3.Connection) -> None:
    tables = {name for (name,) in schema.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert set(first_cells(page("reference/database.md"))) == tables - {"sqlite_sequence", "sqlite_stat1"}


def test_the_schema_holds_the_lists_of_states(schema: sqlite3.Connection) -> None:
    rows = schema.execute("SELECT tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    for check in generate.checks():
        place, condition = check.split(": ", 1)
        table = re.split(r"[.,]", place)[0]
        held = [" ".join(sql.split()).replace("IN ( ", "IN (") for name, sql in rows if name == table]
        assert any(condition in sql for sql in held), f"no migration has, for {table}: {condition}"


# --- files


def test_every_path_of_a_home_is_documented(tmp_path: Path) -> None:
    session = Session(tmp_path)
    try:
        session.run("horae init --example")
        session.run("horae up &")
        session.run("horae run heartbeat --wait")
        session.run("horae audit key")
        home = tmp_path / ".horae"
        there = {path.relative_to(home).as_posix() + "/" * path.is_dir() for path in home.rglob("*")}
    finally:
        session.close()
    listed = first_cells(page("reference/files.md"))
    known = "|".join(re.sub(r"<\w+>", "[^/]+", re.escape(path)) for path in listed)
    strange = [
        path for path in there if not re.fullmatch(rf"(?:{known}|jobs/|scripts/.*|state/runtime\.db-(?:wal|shm))", path)
    ]
    assert not strange
    there_only = {"state/scripts/", "secrets.toml"}  # where a store is shared; where somebody has written one
    missing = {path for path in listed if "<" not in path} - there - there_only
    assert not missing


# --- the JSON of the command line


def shapes() -> dict[str, object]:
    """What stands before an example, in backquotes, and the example."""
    text = section(page("reference/cli.md"), "JSON")
    found: dict[str, object] = {}
    for names, example in re.findall(r"^(`[^\n]*):\n\n```json\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        for name in re.findall(r"`([^`]+)`", names.split(" (")[0]):
            found[name] = json.loads(example)
    return found


def differences(said: object, printed: object, place: str) -> Iterator[str]:
    """Where keys differ. What the example leaves empty is not looked into."""
    if isinstance(said, dict) and isinstance(printed, dict) and said:
        if place.endswith(".job") and "schedule" in said:
            return  # a definition: keys that have their default are left out
        if said.keys() != printed.keys():
            yield f"{place}: the page has {sorted(said)}, it prints {sorted(printed)}"
        for key in said.keys() & printed.keys():
            yield from differences(said[key], printed[key], f"{place}.{key}")
    elif isinstance(said, list) and isinstance(printed, list) and said and printed:
        yield from differences(said[0], printed[0], f"{place}[0]")
    elif isinstance(said, dict | list) != isinstance(printed, dict | list) and said is not None and printed is not None:
        yield f"{place}: the page has {said!r}, it prints {printed!r}"


MODELS = (
    r'[providers.local]\nkind = "openai"\nbase_url = "http://127.0.0.1:1/v1"\nkey = "LOCAL_KEY"\n'
    r'[models.small]\nprovider = "local"\nid = "a"\n[models.large]\nprovider = "local"\nid = "b"\n'
    r'[agents]\nmodel = "small"\n'
)
FIRST_ID = 'sed -n \'/"id":/{s/[^:]*: "//;s/".*//;p;q}\''
COMMANDS = (  # in the order of one session
    ("init", "horae init --json"),
    ("", 'printf \'[platforms.pager]\\nkind = "command"\\nargv = ["false"]\\n\' > ~/.horae/config.toml'),
    ("", f"printf '{MODELS}' >> ~/.horae/config.toml"),
    ("", "horae up &"),
    ("", "echo 'echo 3 new messages' > ~/.horae/scripts/mail.sh"),
    ("add", "horae add 'weekdays at 9am' --name 'Fetch mail' --script mail.sh --json"),
    ("", "horae run fetch-mail --wait"),
    ("list", "horae list --json"),
    ("next JOB", "horae next fetch-mail --json"),
    ("next --schedule", "horae next --schedule 'weekdays at 9am' --json"),
    ("calendar", "horae calendar --json"),
    ("show", "horae show fetch-mail --json"),
    ("run", "horae run fetch-mail --json"),
    ("run --dry", "horae run fetch-mail --dry --json"),
    ("", "sleep 1"),
    ("runs", "horae runs --json"),
    ("log", "horae run fetch-mail --wait --json"),
    ("why", "horae why fetch-mail --limit 1 --json"),
    ("status", "horae status --json"),
    ("doctor", "horae doctor --json"),
    ("check", "horae check --json"),
    ("", "horae skip fetch-mail"),
    ("undo", "horae undo --json"),
    ("targets", "horae targets --json"),
    ("targets test", "horae targets test local --json"),
    ("", "printf 'echo no route to host 7\\nexit 3\\n' > ~/.horae/scripts/bad.sh"),
    ("", "horae add 'weekdays at 9am' --name Bad --script bad.sh --deliver pager"),
    ("", "horae run bad --wait; until horae runs bad | grep -q 'pager failed'; do sleep 0.1; done"),
    ("incidents", "horae incidents bad --json"),
    ("ack", f"horae ack $(horae incidents bad --json | {FIRST_ID}) --snooze 4h --json"),
    ("resend", f"horae resend $(horae runs bad --json | {FIRST_ID}) --json"),
    ("audit verify", "horae audit verify --json"),
    ("audit export --output FILE", "horae audit export --output journal.json --json"),
    ("audit key", "horae audit key --json"),
    ("prune", "horae prune --json"),
    (
        "",
        "mkdir -p team/jobs && cp ~/.horae/jobs/fetch-mail.md team/jobs/tides.md && sed -i /^id:/d team/jobs/tides.md",
    ),
    ("apply", "horae apply team --json"),
    (
        "",
        r"mkdir tides && printf -- '---\ndescription: Tides.\nrequires: {commands: [sh]}\n---\nRead.\n' > tides/SKILL.md",
    ),
    ("skills add", "horae skills add tides --confirm --json"),
    ("skills", "horae skills --json"),
    ("skills check", "horae skills check --json"),
    ("skills show", "horae skills show tides --json"),
    ("skills remove", "horae skills remove tides --json"),
    ("secrets set", "echo not-a-real-key | horae secrets set LOCAL_KEY --json"),
    ("", "horae add 'weekdays at 7am' 'What is on?' --name Morning --agent"),
    ("model", "horae model --json"),
    ("model use", "horae model use large --json"),
    ("secrets", "horae secrets --json"),
    ("secrets unset", "horae secrets unset LOCAL_KEY --json"),
    ("service install --dry", "horae service install --dry --json"),
    ("version", "horae version --json"),
)


def test_json_has_the_documented_keys(tmp_path: Path) -> None:
    said, session, found = shapes(), Session(tmp_path), []
    assert set(said) == {name for name, _ in COMMANDS if name}
    try:
        for name, command in COMMANDS:
            shown, status = session.run(command)
            if name:
                found += differences(said[name], json.loads(shown), name)
            else:
                assert status == 0, shown
    finally:
        session.close()
    assert not found, "\n" + "\n".join(found)
