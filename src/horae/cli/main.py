"""From argv to an exit status. Loads the one command that was named, so that `horae list` starts fast.

Whatever a person can cause ends as a message with what was wrong and what to do, never as a traceback; with `--json` it
is the `error` object on standard output. An error that is not in the tree is a fault of ours and says so.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

from horae.cli.output import Output, screen_width
from horae.errors import Problem, Trouble, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

COMMANDS = {  # name → (module, what it does)
    "init": ("house", "make a home"),
    "up": ("house", "run the gateway in the foreground"),
    "status": ("house", "is the gateway alive, what is next, how late were the last runs"),
    "doctor": ("house", "look for everything that is known to be silently broken"),
    "add": ("jobs", "make a job"),
    "list": ("listing", "list jobs"),
    "show": ("jobs", "show one job with its next slots"),
    "edit": ("jobs", "change a job, or open its file in an editor"),
    "pause": ("jobs", "stop a job's slots, or all jobs'"),
    "resume": ("jobs", "let slots run again"),
    "remove": ("jobs", "delete a job"),
    "check": ("jobs", "preflight a job, or all of them, without running"),
    "run": ("runs", "run a job now"),
    "cancel": ("runs", "end a running run"),
    "runs": ("runs", "list runs, newest first"),
    "log": ("runs", "show what a run said"),
    "replay": ("runs", "run an agent once more with the prompt of a run, and compare"),
    "waiting": ("asks", "list what agents ask of you"),
    "approve": ("asks", "let it be done, what an agent asks"),
    "deny": ("asks", "let it not be done"),
    "why": ("why", "show the decisions about a job's slots"),
    "resend": ("incidents", "send what a run said anew, to whom it did not reach"),
    "incidents": ("incidents", "list what goes wrong again and again"),
    "ack": ("incidents", "be reminded of an incident no more, or not for a while"),
    "resolve": ("resolve", "say how a run ended of which nobody knows"),
    "next": ("slots", "preview the next slots of a job, a schedule, or the home"),
    "calendar": ("calendar", "show the coming days, with what runs on each of them"),
    "skip": ("slots", "skip one slot"),
    "move": ("slots", "move one slot"),
    "undo": ("slots", "take back what a person did last"),
    "apply": ("apply", "bring the home to what a folder of job files says"),
    "diff": ("apply", "show how the home differs from a folder of job files"),
    "targets": ("targets", "list what messages can be sent to, or send a test message"),
    "model": ("models", "list models and who uses them, or choose another one"),
    "skills": ("skills", "list skills, look at one, take one in, or take one away"),
    "secrets": ("secrets", "list names of secrets and who uses them, keep a value, or drop one"),
    "audit": ("audit", "check the journal, or hand it out signed"),
    "prune": ("audit", "take away what is older than the config says"),
    "web": ("web", "serve the dashboard by itself; `up` does it beside its work"),
    "open": ("web", "open the dashboard, by a link for one visit"),
    "mcp": ("mcp", "serve an agent that speaks the Model Context Protocol, on standard input and output"),
    "tokens": ("web", "list tokens and sessions, make a token for a program, or revoke one"),
    "hooks": ("hooks", "list addresses by which others start jobs, or call one"),
    "service": ("service", "keep the gateway running: install, remove or look at its service"),
    "completions": ("completions", "print a completion script for bash, zsh or fish"),
    "version": ("house", "print the version"),
}
INTERRUPTED = 130


class Formatter(argparse.HelpFormatter):
    """Knows the screen's width by itself: argparse would import half of `shutil` to ask, at every option."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=screen_width())


class Helped(Exception):
    """Somebody asked for help: it is an answer like any other."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class Parser(argparse.ArgumentParser):
    """A parser that raises instead of leaving, so that `--json` gets its error as JSON."""

    def print_help(self, file: object = None) -> NoReturn:
        raise Helped(self.format_help().rstrip("\n"))

    def error(self, message: str) -> NoReturn:
        raise Usage(f"{self.prog}: {message}", f"`{self.prog} --help` shows what it takes")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Returns the exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    output = Output(json="--json" in words)
    try:
        return _answered(words, output)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()  # whoever read our output has enough of it
        return 0


def _answered(words: list[str], output: Output) -> int:
    try:
        _refuse_bytes(words)
        status = dispatch(words, output)
        sys.stdout.flush()  # here, where an answer that cannot be written is still told
        return status
    except Helped as helped:
        text = helped.text
        output.emit({"help": text}, lambda: output.text(text))
        return 0
    except Problem as problem:
        output.problem(problem)
        return problem.exit_status
    except Exception as error:
        known = _machine(error)
        if known is not None:
            output.problem(known)
            return known.exit_status
        raise


def _machine(error: Exception) -> Problem | None:
    """What the disk or the database did to us, where nobody below has put it into words."""
    if type(error).__module__ == "sqlite3":
        return import_module("horae.store.sqlite").explain(error, "state/runtime.db")
    if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
        hint = "check its owner and mode, the folder that it is in, and the disk"
        return Trouble(f"{error.filename or 'the system'}: {error.strerror or error!s}", hint, file=error.filename)
    return None


def _refuse_bytes(words: Sequence[str]) -> None:
    for word in words:
        if not word.isascii() and any("\ud800" <= char <= "\udfff" for char in word):
            raise Usage(f"{word!a} is not text in UTF-8", "check the terminal's encoding, or how the word was made")


def dispatch(words: list[str], output: Output) -> int:
    """Find the command among the words and hand it the rest."""
    before: list[str] = []
    while words and words[0].startswith("-"):
        before.append(words.pop(0))
        if before[-1] == "--home" and words:
            before.append(words.pop(0))
    if not words:
        return _bare(before, output)
    name = words[0]
    if name == "help":
        return dispatch([*words[1:2], "--help"], output)
    if name not in COMMANDS:
        raise _unknown(name)
    module = import_module(f"horae.cli.{COMMANDS[name][0]}")
    parser = parser_for(name, module)
    return getattr(module, f"do_{name}")(parser.parse_args([*before, *words[1:]]), output)


def parser_for(name: str, module: object) -> Parser:
    """The parser of one command."""
    parser = Parser(prog=f"horae {name}", description=COMMANDS[name][1], allow_abbrev=False, formatter_class=Formatter)
    getattr(module, f"options_{name}")(parser)
    common = parser.add_argument_group("everywhere")
    common.add_argument("--home", metavar="DIR", help="the home folder (default: $HORAE_HOME, else ~/.horae)")
    common.add_argument("--json", action="store_true", help="print one JSON document")
    return parser


def _bare(before: list[str], output: Output) -> int:
    if "--version" in before:
        return dispatch(["version", *[word for word in before if word != "--version"]], output)
    for word in before:
        if word.startswith("-") and word not in ("-h", "--help", "--json", "--home"):
            raise Usage(f"horae: unknown option {word}", "`horae --help` lists the commands")
    if output.json:
        output.emit({"commands": {name: what for name, (_, what) in COMMANDS.items()}}, None)
        return 0
    output.text("usage: horae [--home DIR] [--json] COMMAND …\n\ncommands:")
    for name, (_, what) in COMMANDS.items():
        output.text(f"  {name:<12} {what}")
    output.text("\n`horae COMMAND --help` shows the options of one. Start with `horae init --example` and `horae up`.")
    return 0


def _unknown(name: str) -> Usage:
    begun = [known for known in COMMANDS if known.startswith(name[:2])]
    hint = f"did you mean {' or '.join(begun)}?" if begun else "`horae --help` lists the commands"
    return Usage(f"horae: there is no command {name!r}", hint)


if __name__ == "__main__":
    sys.exit(main())
