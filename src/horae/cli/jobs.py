"""`add show edit pause resume remove check`."""

from __future__ import annotations

import os
import shlex
from argparse import ArgumentParser, BooleanOptionalAction, Namespace
from collections.abc import Sequence
from typing import Any

from horae import config
from horae.cli.agentoptions import agent_fields, agent_options, agent_rows, resolved_rows
from horae.cli.editor import edited
from horae.cli.notices import notice_fields, notice_options, notice_rows
from horae.cli.output import Output, brief
from horae.cli.policies import policy_fields, policy_options, policy_rows
from horae.cli.running import running_fields, running_options, running_rows
from horae.errors import Invalid, Usage
from horae.wiring import House, open_house

PROMPT_LINES = 5  # shown of a prompt unless all of it is asked for
PAIRS = {  # keys whose value is a mapping: the option, and an example of what it takes
    "limits": ("--limit", "wall=20m,output=64k"),
    "clock_change": ("--clock-change", "gap=skip,repeat=both"),
}


def _job(parser: ArgumentParser, *, optional: bool = False) -> None:
    parser.add_argument(
        "job", metavar="JOB", nargs="?" if optional else None, help="id, unique prefix of one, slug, or name"
    )


def _field_options(parser: ArgumentParser) -> None:
    """Options that are keys of a job file."""
    parser.add_argument("--name", metavar="N", help="what people call it")
    parser.add_argument("--timezone", metavar="TZ", help="IANA zone, for example Europe/Paris")
    parser.add_argument("--script", metavar="FILE", help="a file in scripts/")
    parser.add_argument(
        "--command", metavar="WORDS", help='a program with its arguments, for example "restic backup /data"'
    )
    parser.add_argument(
        "--agent", action=BooleanOptionalAction, default=None, help="with --no-agent the script is the whole job"
    )
    parser.add_argument("--repeat", metavar="N", help="how many times it runs, or `forever`")
    parser.add_argument("--limit", metavar="K=V", action="append", help="for example wall=20m,output=64k")
    parser.add_argument(
        "--clock-change",
        action="append",
        metavar="K=V",
        help="for times that the clock skips or shows twice: gap=skip,repeat=both",
    )
    agent_options(parser)
    running_options(parser)
    policy_options(parser)
    notice_options(parser)


def fields_of(args: Namespace) -> dict[str, Any]:
    """The given options as keys of a job file."""
    if args.timezone is not None and not args.timezone.strip():
        raise Usage("--timezone has no value", "for example --timezone Europe/Paris; leave it out for that of the home")
    fields: dict[str, Any] = {
        "name": args.name,
        "timezone": args.timezone,
        "script": args.script,
        "command": words_of(args.command) if args.command else None,
        "repeat": args.repeat,
        **agent_fields(args),
        **running_fields(args),
        **policy_fields(args),
        **notice_fields(args),
    }
    if args.limit is not None:
        fields["limits"] = pairs_of("limits", args.limit)
    if args.clock_change is not None:
        fields["clock_change"] = pairs_of("clock_change", args.clock_change)
    if fields["command"] and fields["agent"] is None:
        fields["agent"] = False  # a program that somebody names is the whole job unless they say otherwise
    return {key: value for key, value in fields.items() if value is not None}


def words_of(text: str) -> list[str]:
    """A program with its arguments, split as a shell would, but by no shell."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise Usage(
            f"--command {text!r}: {error}", "quote it as for a shell, for example \"sh -c 'echo hi'\""
        ) from error


def pairs_of(key: str, texts: Sequence[str]) -> dict[str, str]:
    """`wall=20m,idle=5m` as a mapping, for a key of the job file; an option that is given again adds to it.

    Raises Usage that names the option.
    """
    option, example = PAIRS[key]
    found: dict[str, str] = {}
    text = ",".join(texts)
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if not equals or not name.strip() or not value.strip():
            hint = f"for example {option} {example}; `horae edit JOB --unset {key}` takes it away"
            raise Usage(f"{option} {text!r}: {part!r} is not KEY=VALUE", hint)
        if name.strip() in found:
            raise Usage(
                f"{option}: {name.strip()} is given twice", f"give each key once, for example {option} {example}"
            )
        found[name.strip()] = value.strip()
    return found


def options_add(parser: ArgumentParser) -> None:
    """What `add` takes."""
    parser.add_argument(
        "schedule", metavar="SCHEDULE", help='"weekdays at 9am", "every 90 minutes", "in 2h", a cron line, an instant'
    )
    parser.add_argument("prompt", metavar="PROMPT", nargs="?", help="what an agent is to do")
    _field_options(parser)
    parser.add_argument("--paused", action="store_true", help="make it, but let nothing run yet")


def do_add(args: Namespace, output: Output) -> int:
    """Make a job."""
    fields = fields_of(args)
    if args.prompt:
        fields["prompt"] = args.prompt
    output.change(open_house(args.home).call("add", schedule=args.schedule, fields=fields, paused=args.paused))
    return 0


def options_edit(parser: ArgumentParser) -> None:
    """What `edit` takes."""
    _job(parser)
    parser.add_argument("--schedule", metavar="S", help="a new schedule")
    parser.add_argument("--prompt", metavar="P", help="a new prompt")
    _field_options(parser)
    either = parser.add_mutually_exclusive_group()
    either.add_argument(
        "--enable", dest="enabled", action="store_true", default=None, help="write `enabled: true` into the file"
    )
    either.add_argument("--disable", dest="enabled", action="store_false", help="write `enabled: false` into the file")
    parser.add_argument("--unset", metavar="KEY", action="append", default=[], help="remove a key from the file")
    parser.add_argument(
        "--editor", action="store_true", help="open the file in $VISUAL or $EDITOR; it is checked before it is kept"
    )


def do_edit(args: Namespace, output: Output) -> int:
    """Change a job."""
    house = open_house(args.home)
    changes = fields_of(args)
    changes |= {key: value for key in ("schedule", "prompt", "enabled") if (value := getattr(args, key)) is not None}
    if args.editor:
        if changes or args.unset:
            raise Usage("--editor goes with no other option", "say it in the file, or leave out --editor")
        return _in_editor(house, args.job, output)
    if both := sorted({*changes} & {*args.unset}):
        raise Usage(f"--unset {both[0]} and a value for it contradict one another", "say one of them")
    changes |= dict.fromkeys(args.unset)
    output.change(house.call("edit", job=args.job, changes=changes))
    return 0


def _in_editor(house: House, job: str, output: Output) -> int:
    slug = str(house.view("app.views", "show_job", job=job)["job"]["slug"])
    with open(os.path.join(house.jobs, f"{slug}.md"), encoding="utf-8", newline="") as file:
        before = file.read()
    after = edited(before, f"{slug}.md", config.editor(), config.environment())
    if after == before:
        raise Invalid(f"jobs/{slug}.md was not changed", "nothing was written")
    output.change(house.call("replace", slug=slug, before=before, after=after))
    return 0


def options_show(parser: ArgumentParser) -> None:
    """What `show` takes."""
    _job(parser)
    parser.add_argument("--prompt", action="store_true", help="exactly what an agent would be sent, and nothing else")


def do_show(args: Namespace, output: Output) -> int:
    """Show one job."""
    answer = open_house(args.home).view("app.views", "show_job", job=args.job, prompt=args.prompt)

    def render() -> None:
        if args.prompt:
            output.outside((answer["prompt"] or {"prompt": answer["job"].get("prompt") or ""})["prompt"])
            return
        job, state, resolved = answer["job"], answer["state"], answer["resolved"]
        paused: dict[str, Any] = state["paused"] or {}
        problem: dict[str, Any] = state["problem"] or {}
        limits: dict[str, Any] = resolved["limits"] or {}
        schedule = job["schedule"] or state["schedule"]
        because = paused.get("reason") or state["completed_reason"] or problem.get("message")
        output.pairs([
            ("name", job["name"] or state["name"]),
            ("id", job["id"]),
            ("file", answer["file"]),
            ("state", output.state(state["state"]) + (f" ({because})" if because else "")),
            ("schedule", brief(schedule) if schedule else None),
            ("meaning", f"{brief(answer['meaning'])} ({state['timezone']})" if answer["meaning"] else None),
            ("clock change", policy_words(resolved["clock_change"], job["clock_change"] or {})),
            *policy_rows(job),
            ("starts", shlex.join(resolved["argv"]) or None),
            *resolved_rows(resolved),
            *agent_rows(job),
            *running_rows(job),
            ("limits", ", ".join(f"{key} {value}" for key, value in limits.items() if value is not None)),
            ("delivers to", ", ".join(resolved["targets"])),
            *notice_rows(job),
            ("cannot run", "; ".join(resolved["problems"])),
        ])  # fmt: skip
        if job.get("prompt"):
            lines = job["prompt"].split("\n")
            shown = lines[:PROMPT_LINES]
            output.text("prompt:")
            output.outside("\n".join(shown))
            if len(shown) < len(lines):
                output.text(f"… and {len(lines) - len(shown)} more lines: horae show {job['slug']} --prompt")
        passed = "" if state["state"] == "active" else f", which will not run while it is {state['state']}"
        output.text(f"next slots{passed}:" if answer["slots"] else "no slots ahead")
        output.slots(answer["slots"])
        for run in answer["runs"][:1]:
            output.text(
                f"last run: {output.state(run['state'])}  {run['slot']}  {run['reason'] or ''}  (horae log {run['id']})"
            )

    output.emit(answer, render)
    return 0


def policy_words(policy: dict[str, Any], asked: dict[str, Any]) -> str:
    """What becomes of wall times when clocks change, and what of it the job asked for."""
    told = [f"{key} {value}" + ("" if asked.get(key) else " (default)") for key, value in policy.items() if value]
    return ", ".join(told)


def options_pause(parser: ArgumentParser) -> None:
    """What `pause` takes."""
    _job(parser, optional=True)
    parser.add_argument("--all", action="store_true", help="every active job")
    parser.add_argument("--reason", metavar="R", help="kept with the pause and with every slot that it skips")


def do_pause(args: Namespace, output: Output) -> int:
    """Stop slots."""
    output.change(open_house(args.home).call("pause", job=_one_or_all(args), reason=args.reason))
    return 0


def options_resume(parser: ArgumentParser) -> None:
    """What `resume` takes."""
    _job(parser, optional=True)
    parser.add_argument("--all", action="store_true", help="every paused job")


def do_resume(args: Namespace, output: Output) -> int:
    """Let slots run again."""
    output.change(open_house(args.home).call("resume", job=_one_or_all(args)))
    return 0


def options_remove(parser: ArgumentParser) -> None:
    """What `remove` takes."""
    _job(parser)


def do_remove(args: Namespace, output: Output) -> int:
    """Delete a job."""
    output.change(open_house(args.home).call("remove", job=args.job))
    return 0


def options_check(parser: ArgumentParser) -> None:
    """What `check` takes."""
    _job(parser, optional=True)
    parser.add_argument(
        "--probe", action="store_true", help="also ask providers whether they are there; it costs nothing"
    )


def do_check(args: Namespace, output: Output) -> int:
    """Preflight without running."""
    answer = open_house(args.home).view("app.doctor", "check", job=args.job, probe=args.probe)
    output.emit(answer, lambda: render_checks(answer, output))
    return 0 if answer["ok"] else 1


def render_checks(answer: dict[str, Any], output: Output) -> None:
    """Findings, one a line, the bad ones with their remedy."""
    for item in answer["checks"]:
        sign = output.paint("ok  ", "green") if item["ok"] else output.paint("bad ", "red")
        output.text(f"{sign} {item['check']}: {item['what']}")
        if item["remedy"]:
            output.text(f"       → {item['remedy']}")


def _one_or_all(args: Namespace) -> str | None:
    if (args.job is None) == (not args.all):
        raise Usage("name one job, or --all", "for example `horae pause heartbeat`")
    return args.job
