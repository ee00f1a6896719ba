"""`audit prune`: check the journal, hand it out signed, and take away what is old."""

from __future__ import annotations

import os
import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from horae.cli.output import Output
from horae.core.text import clip, one_line
from horae.errors import Invalid, NotFound, Usage
from horae.limits import EXPORT_LINE_CHARS_MAX
from horae.wiring import House, load, open_house

ACTIONS = ("verify", "export", "key")
OPTIONS = {  # option → the action that takes it
    "export": ("--export", "verify"),
    "against": ("--against", "verify"),
    "keys": ("--key", "verify"),
    "start": ("--from", "export"),
    "end": ("--to", "export"),
    "job": ("--job", "export"),
    "output": ("--output", "export"),
}
KEY = re.compile(r"ed25519:[A-Za-z0-9+/]{43}=")
SAID_EVERY = 200_000  # entries: a journal of a year is walked without a word
PRUNED_AT_ONCE = 10_000  # rows in one question to a gateway
SHOWN_CHARS_MAX = 1000


def options_audit(parser: ArgumentParser) -> None:
    """What `audit` takes."""
    parser.add_argument(
        "action",
        choices=ACTIONS,
        metavar="ACTION",
        help="verify: find what was changed, lost or cut; export: write the journal out, signed; key: show the public key",
    )
    parser.add_argument("--export", metavar="FILE", help="verify: check this export, not the home's journal")
    parser.add_argument("--against", metavar="FILE", help="verify: compare the journal with this earlier export of it")
    parser.add_argument(
        "--key", dest="keys", action="append", metavar="KEY", help="verify: a public key to trust besides the home's"
    )
    parser.add_argument("--from", dest="start", metavar="T", help="export: the first instant that counts")
    parser.add_argument("--to", dest="end", metavar="T", help="export: the first instant that does not count any more")
    parser.add_argument("--job", metavar="JOB", help="export: only what is about this job")
    parser.add_argument("--output", metavar="FILE", help="export: write to this file (default: standard output)")


def do_audit(args: Namespace, output: Output) -> int:
    """Check the journal, or hand it out."""
    for name, (option, action) in OPTIONS.items():
        if getattr(args, name) is not None and args.action != action:
            raise Usage(f"{option} goes with `audit {action}`", f"`horae audit {action} {option} …`")
    house = open_house(args.home)
    if args.action == "verify":
        return _verify(house, args, output)
    house.exists()
    house.refuse_runs(f"audit {args.action}")
    return _export(house, args, output) if args.action == "export" else _key(house, output)


def _verify(house: House, args: Namespace, output: Output) -> int:
    """Exit 1 when anything is found."""
    if args.export is not None and args.against is not None:
        raise Usage(
            "give --export or --against, not both", "--export checks a file, --against compares the journal with one"
        )
    keys = tuple(args.keys or ())
    for key in keys:
        if not KEY.fullmatch(key):  # it would be trusted, and nothing would ever be signed with it
            raise Usage(
                f"--key {clip(key, 60)!r} is no public key", "give it as `horae audit key` prints it: ed25519:…"
            )
    if args.export is not None:
        key = load("wiring.assembly", "audit_key")(house.path)
        with _opened(args.export) as lines:
            answer = load("app.audit", "verify_export")(lines, key, keys=keys)
    else:
        house.exists()
        verify = load("app.audit", "verify")
        if args.against is None:
            answer = verify(house.home, keys=keys, progress=_progress(output))
        else:
            with _opened(args.against) as lines:
                answer = verify(house.home, keys=keys, against=lines, progress=_progress(output))
    output.emit(answer, lambda: _render_verified(answer, output))
    return 0 if answer["ok"] else 1


def _render_verified(answer: dict[str, Any], output: Output) -> None:
    for chain in answer["chains"]:
        output.text(_chain_words(chain))
    old = answer["unchained"]
    if old:
        some = "1 entry" if old == 1 else f"{old:,} entries"
        output.text(f"{some} from before the journal was chained, of which nothing tells whether it was changed")
    if answer["export"] is not None:
        told = answer["export"]
        part = "a part of the journal" if told["partial"] else "the whole journal"
        output.text(_shown(f"exported {told['made_at']} by {told['made_by']}: {part}, signed with {told['key']}"))
        if told["trusted"] is None:
            output.note("compare that key with what `horae audit key` says in the home that it came from")
    for found in answer["findings"]:
        place = "" if found["entry"] is None else f"entry {found['entry']}: "
        where = f"chain {found['chain']}, {found['number']}: " if found["number"] is not None else ""
        when = f"  ({found['at']})" if found["at"] else ""
        output.text(output.paint(_shown(f"{found['what']}: {where}{place}{found['text']}{when}"), "red"))
    count = len(answer["findings"])
    if count:
        output.text(
            "1 thing is not as it was written" if count == 1 else f"{count} things are not as they were written"
        )
    elif not answer["entries"]:
        output.text("nothing else is in the journal" if old else "nothing is in the journal")
    else:
        output.text(output.paint("every entry is as it was written, and none is missing", "green"))


def _shown(text: str) -> str:
    """What stands in a journal or an export may have been put there by somebody."""
    return one_line(text, SHOWN_CHARS_MAX)


def _chain_words(chain: dict[str, Any]) -> str:
    said = f"chain {_shown(chain['chain'])}: "
    if chain["entries"]:
        count = "1 entry" if chain["entries"] == 1 else f"{chain['entries']:,} entries"
        said += f"{count}, {chain['first']} to {chain['last']}, {chain['from']} to {chain['to']}"
    else:
        said += "no entries"
    if chain["pruned"]:
        when = f", last at {chain['pruned_at']}" if chain["pruned_at"] else ""
        said += f"; {chain['pruned']:,} pruned{when}"
    return said


def _export(house: House, args: Namespace, output: Output) -> int:
    export = load("app.audit", "export")
    asked = {"start": args.start, "end": args.end, "job": args.job, "progress": _progress(output)}
    if args.output is None:
        export(house.home, sys.stdout.write, **asked)
        sys.stdout.flush()
        return 0
    with _written(args.output) as file:
        answer = export(house.home, file.write, **asked)
    answer = {"file": args.output, **answer}

    def render() -> None:
        some = "a part of the journal" if answer["partial"] else "the journal"
        output.text(f"wrote {some}, {answer['entries']:,} entries, to {args.output}")
        output.text(f"  signed with {answer['key']}")
        output.text(f"  check: horae audit verify --export {args.output}")

    output.emit(answer, render)
    return 0


def _key(house: House, output: Output) -> int:
    answer = load("app.audit", "audit_key")(house.home.key())

    def render() -> None:
        output.text(answer["key"])
        if answer["made"]:
            output.note(f"made just now; its private half is {answer['file']}: back it up, and show it to nobody")

    output.emit(answer, render)
    return 0


def options_prune(parser: ArgumentParser) -> None:
    """What `prune` takes."""
    parser.add_argument("--dry-run", action="store_true", help="say what would go, take nothing away")


def do_prune(args: Namespace, output: Output) -> int:
    """Take away what is older than the config's `[retention]` says."""
    house = open_house(args.home)
    if args.dry_run:
        answer = house.view("app.retention", "prune", dry_run=True)
    else:
        answer = house.call("prune", most=PRUNED_AT_ONCE)
        while answer["more"]:
            more = house.call("prune", most=PRUNED_AT_ONCE)
            gone = {kind: count + more["pruned"][kind] for kind, count in answer["pruned"].items()}
            answer = {**more, "pruned": gone}
    output.emit(answer, lambda: _render_pruned(answer, output))
    return 0


def _render_pruned(answer: dict[str, Any], output: Output) -> None:
    names = {"output": "texts of runs", "runs": "runs, but for their rows", "journal": "entries of the journal"}
    done = "would prune" if answer["dry_run"] else "pruned"
    for kind, name in names.items():
        before = answer["before"][kind]
        said = "kept for ever" if before is None else f"{done} {answer['pruned'][kind]:,} from before {before}"
        output.text(f"{name}: {said}")


def _progress(output: Output) -> Any:
    """Tells on standard error how far a long walk is."""
    said = 0

    def tell(done: int, total: int) -> None:
        nonlocal said
        if done - said >= SAID_EVERY:
            said = done
            output.note(f"{done:,} of {total:,} entries")

    return tell


@contextmanager
def _opened(path: str) -> Generator[Iterator[str]]:
    """The lines of an export; what cannot be read is named."""
    if not path:
        raise Usage("the name of the export has no value", "`horae audit export --output FILE` writes one")
    if os.path.exists(path) and not os.path.isfile(path):  # a device may never end, and a pipe never begin
        raise Invalid(f"{path} is not a regular file", "write the export to a file, and name that", file=path)
    try:
        with open(path, encoding="utf-8", newline="\n") as file:
            yield _lines(path, file)
    except FileNotFoundError:
        raise NotFound(f"there is no file {path}", "`horae audit export --output FILE` writes one", file=path) from None
    except UnicodeDecodeError as error:
        raise Invalid(f"{path} is not text in UTF-8", "it is no export of a journal, or damaged", file=path) from error


def _lines(path: str, file: TextIO) -> Iterator[str]:
    """One by one, each of a length that an export can have: what is none may be one line, and larger than the memory."""
    number = 0
    while line := file.readline(EXPORT_LINE_CHARS_MAX + 1):
        number += 1
        if len(line) > EXPORT_LINE_CHARS_MAX:
            says = f"{path}: line {number} has more than {EXPORT_LINE_CHARS_MAX:,} characters"
            raise Invalid(says, "it is no export of a journal, or damaged", file=path, line=number)
        yield line


@contextmanager
def _written(path: str) -> Generator[TextIO]:
    """A file that has its name only when all of it is written."""
    if not path or (os.path.exists(path) and not os.path.isfile(path)):  # a device or a folder, which none may replace
        raise Usage(f"--output {path!r} is not the name of a file", "without --output it goes to standard output")
    part = f"{path}.part"
    try:
        with open(part, "w", encoding="utf-8", newline="\n") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        if os.path.isfile(part):
            os.unlink(part)
        raise
