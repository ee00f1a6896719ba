"""`run cancel runs log`."""

from __future__ import annotations

import re
import shlex
import time
from argparse import ArgumentParser, Namespace
from typing import Any

from horae.cli.agentoptions import resolved_rows
from horae.cli.output import Output
from horae.core.activitywords import activity_words
from horae.core.states import TRIGGERS
from horae.core.text import money_words
from horae.errors import Unavailable, Usage
from horae.timing.durations import duration_words, short_duration
from horae.wiring import House, open_house

STATES = ("claimed", "running", "completed", "failed", "cancelled", "unknown", "blocked", "released")
ENDED = ("completed", "failed", "cancelled", "unknown", "blocked")
LIMIT_MAX = 10_000
SHOWN = 20
CURSOR = r"[0-9]{1,18}-[0-9a-f]{1,32}"
LOOK_EVERY_S = 0.1  # while a person waits for a run
TELL_AFTER = 25  # looks, some seconds: so long a run may take to begin before it is said what it waits for
NO_RUN: dict[str, Any] = {
    **dict.fromkeys(("run", "message", "stdout", "stderr")),
    **dict.fromkeys(("stdout_cut_bytes", "stderr_cut_bytes"), 0),
    "activity": [],
    "pruned": False,
}  # the shape of `log` where there is none


def options_run(parser: ArgumentParser) -> None:
    """What `run` takes."""
    parser.add_argument("job", metavar="JOB", help="id, unique prefix of one, slug, or name")
    parser.add_argument("--dry", action="store_true", help="show what would be started, start nothing")
    parser.add_argument("--wait", action="store_true", help="wait for its end and show what it said")
    parser.add_argument("--with", dest="input", metavar="TEXT", help="given to the run as HORAE_WITH")


def do_run(args: Namespace, output: Output) -> int:
    """Run a job now."""
    house = open_house(args.home)
    if args.dry:
        return _rehearse(house, args.job, args.input, output)
    if args.wait and house.gateway() is None:
        raise Unavailable("no gateway is running, so there is nothing to wait for", "start one with `horae up`")
    answer = house.call("run", job=args.job, input=args.input)
    if not args.wait:
        output.change(answer)
        return 0
    return _show_end(house, answer, output)


def _rehearse(house: House, job: str, input: str | None, output: Output) -> int:
    answer = house.view("app.runs", "rehearse", job=job, input=input)
    agent = answer["agent"]

    def render() -> None:
        output.pairs([
            ("would start", shlex.join(answer["argv"]) or ("nothing" if agent is None else None)),
            *(() if agent is None else resolved_rows(agent)),
            ("in", answer["cwd"]),
            ("ends it after", duration_words(round(answer["wall_s"]))),
            ("delivers to", ", ".join(answer["deliver"])),
        ])  # fmt: skip
        if answer["prompt"] is not None:
            output.text("prompt:")
            output.outside(answer["prompt"]["prompt"])
        for problem in answer["problems"]:
            output.text(output.paint(f"would be blocked: {problem}", "red"))

    output.emit(answer, render)
    return 1 if answer["problems"] else 0


def _show_end(house: House, ordered: dict[str, Any], output: Output) -> int:
    """Wait for an ordered run, then show its result. Exit 1 when it did not complete, or ended without a run."""
    answer = _wait(house, ordered, output)
    run, ended = answer["run"], answer["occurrence"]

    def render() -> None:
        if run is not None:
            render_log(answer, output)
        else:
            output.text(f"{output.state(ended['outcome'])}  {ordered['job']['name']}  it ended without a run")
            output.text(f"reason: {ended['reason'] or 'none is on record'}")

    output.emit(answer, render)
    return 0 if run is not None and run["state"] == "completed" else 1


def _wait(house: House, ordered: dict[str, Any], output: Output) -> dict[str, Any]:
    """The result of its latest attempt once its occurrence is settled. What it waits for is said once."""
    looks, said = 0, False
    while True:
        looks += 1
        found = house.view("app.runs", "awaited", key=ordered["key"])
        log, ended = found["log"], found["occurrence"]
        if ended["outcome"] is not None:
            if log is None or log["run"]["state"] not in ENDED:  # one that was given back is no run
                return {**NO_RUN, "occurrence": ended}
            return {**log, "occurrence": ended}
        if not said and found["waits"] is not None and looks > TELL_AFTER:
            output.note(f"still waiting for {ordered['job']['slug']}: {found['waits']}")
            said = True
        if _gone(house):
            raise Unavailable("the gateway is gone, and the run has not ended", "start one with `horae up`")
        time.sleep(LOOK_EVERY_S)


def _gone(house: House) -> bool:
    """Whether nobody is there any more who could start or watch it; a gateway that is only slow is there."""
    found = house.gateway()
    return found is None or (not found["alive"] and open_house(house.path).holder is None)


def options_replay(parser: ArgumentParser) -> None:
    """What `replay` takes."""
    parser.add_argument("run", metavar="RUN", help="a run's id or a unique beginning of it; a job: its latest run")
    parser.add_argument("--model", metavar="M", help="another model; without it the job's")
    parser.add_argument("--wait", action="store_true", help="wait for its end and show how the two differ")


def do_replay(args: Namespace, output: Output) -> int:
    """Run an agent once more with the prompt of a run."""
    house = open_house(args.home)
    if args.wait and house.gateway() is None:
        raise Unavailable("no gateway is running, so there is nothing to wait for", "start one with `horae up`")
    ordered = house.call("replay", run=args.run, model=args.model)
    if not args.wait:
        output.change(ordered)
        return 0
    log = _wait(house, ordered, output)
    if log["run"] is None:
        output.emit(log, lambda: output.text(f"it ended without a run: {log['occurrence']['reason']}"))
        return 1
    answer = house.view("app.replay", "compared", before=ordered["replay_of"], after=log["run"]["id"])
    output.emit(answer, lambda: render_compared(answer, output))
    return 0 if log["run"]["state"] == "completed" else 1


def render_compared(answer: dict[str, Any], output: Output) -> None:
    """Two runs side by side, then how their answers differ."""
    rows: list[tuple[object, ...]] = []
    for run in (answer["before"], answer["after"]):
        cost = "" if run["cost_usd"] is None else money_words(run["cost_usd"])
        rows.append(
            (run["id"], run["state"], run["model"], run["turns"], run["tokens"], cost, _short(run["duration_s"]))
        )
    output.table(("RUN", "STATE", "MODEL", "TURNS", "TOKENS", "COST", "TOOK"), rows, soft=(2,), states=(1,))
    if answer["same"]:
        output.text("the answers are the same")
    output.outside(answer["diff"])


def options_cancel(parser: ArgumentParser) -> None:
    """What `cancel` takes."""
    parser.add_argument("run", metavar="RUN", help="a run's id or a unique beginning of it")


def do_cancel(args: Namespace, output: Output) -> int:
    """Ask a run to end: TERM, then KILL after its grace."""
    house = open_house(args.home)
    house.exists()
    output.change(house.call("cancel", run=args.run))
    return 0


def options_runs(parser: ArgumentParser) -> None:
    """What `runs` takes."""
    parser.add_argument("job", metavar="JOB", nargs="?", help="only runs of this job")
    parser.add_argument("--state", choices=STATES, help="only runs in this state")
    parser.add_argument("--trigger", choices=TRIGGERS, help="only runs that the schedule began, or a person or program")
    parser.add_argument("--since", metavar="WHEN", help="only runs claimed from this day or instant on")
    parser.add_argument(
        "--until", metavar="WHEN", help="only runs claimed until this day, all of it, or before this instant"
    )
    parser.add_argument("--limit", type=int, default=SHOWN, metavar="N", help=f"at most so many (default {SHOWN})")
    parser.add_argument("--cursor", metavar="C", help="go on behind this one")


def do_runs(args: Namespace, output: Output) -> int:
    """List runs."""
    if not 1 <= args.limit <= LIMIT_MAX:
        raise Usage(f"--limit must be from 1 to {LIMIT_MAX}, not {args.limit}")
    if args.cursor is not None and not re.fullmatch(CURSOR, args.cursor):
        raise Usage(f"--cursor {args.cursor!r} is not one that `runs` printed")
    among = {"job": args.job, "state": args.state, "trigger": args.trigger, "since": args.since, "until": args.until}
    answer = open_house(args.home).view("app.views", "list_runs", **among, limit=args.limit, cursor=args.cursor)

    def render() -> None:
        if not answer["runs"]:
            none = "no such runs" if any(among.values()) else "no runs yet"
            output.text(none if args.cursor is None else "no more runs")
            return
        rows: list[tuple[object, ...]] = []
        for run in answer["runs"]:
            times = _short(run["lateness_s"]), _short(run["duration_s"])
            what = run["id"], run["state"], run["slug"], run["slot"], _delivered(run["deliveries"]), run["reason"]
            rows.append((*what, *times, run["trigger"]))
        heads = (
            "RUN",
            "STATE",
            "JOB",
            "SLOT",
            "DELIVERED",
            "WHY",
            "LATE",
            "TOOK",
            "BY",
        )  # the last ones give way first
        output.table(heads, rows, soft=(2, 4, 5), states=(1,))
        if answer["cursor"]:
            job = f" {shlex.quote(args.job)}" if args.job is not None else ""
            state = f" --state {args.state}" if args.state else ""
            limit = f" --limit {args.limit}" if args.limit != SHOWN else ""
            output.note(f"more: horae runs{job} --cursor {answer['cursor']}{state}{limit}")

    output.emit(answer, render)
    return 0


def _delivered(items: list[dict[str, Any]]) -> str:
    """Where it went; what has not arrived stands first, since there may be no room for all."""
    trouble = [item for item in items if item["state"] not in ("delivered", "suppressed")]
    others = [item for item in items if item not in trouble]
    return ", ".join(f"{_to(item)} {item['state']}" for item in (*trouble, *others))


def _to(item: dict[str, Any]) -> str:
    """Where a message went; of one that is no result or alert, what it is."""
    return item["target"] if item["kind"] in ("result", "alert") else f"{item['target']} ({item['kind']})"


def _short(seconds: float | None) -> str:
    return "" if seconds is None else short_duration(seconds)


def options_log(parser: ArgumentParser) -> None:
    """What `log` takes."""
    parser.add_argument("run", metavar="RUN", help="a run's id or a unique beginning of it; a job: its latest run")
    parser.add_argument("--follow", action="store_true", help="show a live run's output as it comes, until it ends")


def do_log(args: Namespace, output: Output) -> int:
    """Show what a run said."""
    house = open_house(args.home)
    if args.follow:
        return _follow(house, args.run, output)
    answer = house.view("app.views", "run_log", run=args.run)
    output.emit(answer, lambda: render_log(answer, output, cluster=house.cluster))
    return 0


def _follow(house: House, run: str, output: Output) -> int:
    """Print a live run's standard output as it comes; with --json one object a line."""
    shown, told, far = 0, 0, False
    while True:
        answer = house.view("app.views", "run_log", run=run)
        done = answer["run"]["state"] in ENDED
        text = answer["stdout"] if done else ""
        if not done:
            found = house.so_far(answer["run"]["id"])
            text = found["stdout"] if found else ""
            for event in found["events"][told:] if found else ():
                output.follow(f"{activity_words(event)}\n", answer["run"]["id"])
                told += 1
            if found is None and answer["run"]["state"] == "running" and house.cluster and not far:
                far = True
                output.note("no gateway of this home watches it: what it prints is shown when it has ended")
        if text and len(text) > shown:
            output.follow(text[shown:], answer["run"]["id"])
            shown = len(text)
        if done:
            output.follow(None, answer["run"]["id"], answer["run"])
            return 0
        if not house.cluster and _gone(house):
            raise Unavailable("the run is live, but no gateway watches it", "`horae up` finds out what became of it")
        time.sleep(LOOK_EVERY_S)


def _used(used: dict[str, Any]) -> str:
    """What a run used, in a line."""
    killed = f", {used['survivors']} killed at its end" if used["survivors"] else ""
    proved = "" if used["proved"] else ", not proved that nothing is left"
    return (
        f"{short_duration(used['wall_s'])}, CPU {short_duration(used['cpu_s'])}, memory {size(used['peak_bytes'])}, "
        f"output {size(used['out_bytes'])}{killed}{proved}"
    )


def size(count: float) -> str:
    """A number of bytes, short."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def render_log(answer: dict[str, Any], output: Output, *, cluster: bool = False) -> None:
    """A run's head, of a cluster with the machine, then what it said."""
    run = answer["run"]
    took = f", took {short_duration(run['duration_s'])}" if run["duration_s"] is not None else ""
    late = f", {short_duration(run['lateness_s'])} late" if run["lateness_s"] is not None else ""
    where = f", on {run['host']}" if cluster and run["host"] else ""
    output.text(f"{output.state(run['state'])}  {run['job']}  slot {run['slot']}{late}{took}{where}")
    if run["reason"]:
        output.text(f"reason: {run['reason']}")
    if run["used"] is not None:
        output.text(f"used: {_used(run['used'])}")
    if run["model"] is not None:
        cost = "" if run["cost_usd"] is None else f", {money_words(run['cost_usd'])}"
        turns = f"{run['turns'] or 0} turn{'' if run['turns'] == 1 else 's'}"
        output.text(f"agent: {run['model']}, {turns}, {run['tokens'] or 0:,} tokens{cost}")
    for name in run["files"]:
        output.text(f"kept as a file: {name}")
    for item in run["deliveries"]:
        output.text(f"delivery: {_to(item)} {output.state(item['state'])} {item['reason'] or item['evidence'] or ''}")
    if answer["pruned"]:
        output.text("what it printed was pruned (`[retention]` in config.toml)")
    elif answer["message"] is None:
        output.text(f"it has not ended; `horae log {run['id']} --follow` shows its output as it comes")
    for event in answer["activity"]:
        output.text(output.paint(activity_words(event), "grey"))
    for title in ("stdout", "stderr"):
        if answer[title]:
            cut = answer[f"{title}_cut_bytes"]
            output.text(output.paint(f"── {title} {f'({cut} bytes were cut) ' if cut else ''}──", "grey"))
            output.outside(answer[title])
