"""`init up status doctor version`: the home and its gateway."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from contextlib import suppress
from dataclasses import replace
from io import TextIOWrapper
from typing import Any, cast

from horae import __version__
from horae.cli.jobs import render_checks
from horae.cli.output import Output
from horae.errors import Problem, Unavailable
from horae.wiring import load, open_house, up


def options_init(parser: ArgumentParser) -> None:
    """What `init` takes."""
    parser.add_argument(
        "--example", action="store_true", help="with two jobs that need nothing: a watchdog and a heartbeat"
    )


def do_init(args: Namespace, output: Output) -> int:
    """Make a home; what exists is left alone."""
    house = open_house(args.home)
    made = load("store.newhome", "make_home")(house.path, example=args.example)
    if args.example and "jobs/heartbeat.md" in made:
        house.freshen()
        load("wiring.first", "prepare_examples")(house.home)
    answer: dict[str, Any] = {
        "home": house.path,
        "made": made,
        "did": f"made a home at {house.path}"
        if "." in made
        else f"{house.path}: {len(made)} things were missing and are there now",
    }

    def render() -> None:
        output.text(answer["did"])
        for name in made:
            output.text(f"    {name}")
        output.text("next: `horae up` runs it, `horae add` makes a job")

    output.emit(answer, render)
    return 0


def options_up(parser: ArgumentParser) -> None:
    """What `up` takes."""
    parser.add_argument("--no-web", action="store_true", help="without the dashboard")
    parser.add_argument("--port", type=int, metavar="N", help="the dashboard's port; 0 is any that is free")


def do_up(args: Namespace, output: Output) -> int:
    """Run the gateway until it is stopped."""
    house = open_house(args.home)
    house.exists()
    cast("TextIOWrapper", sys.stdout).reconfigure(line_buffering=True)

    def echo(text: str) -> None:
        with suppress(OSError):  # nobody reads it any more: the work goes on, and the log file has the rest
            output.text(text)

    def web(said: Any) -> Any:
        changed = {} if args.port is None else {"port": args.port}
        return replace(said, **changed, **({"serve": False} if args.no_web else {}))

    return up(house, echo=echo, web=web, watched=output.terminal)


def options_status(parser: ArgumentParser) -> None:
    """`status` takes nothing of its own."""


def do_status(args: Namespace, output: Output) -> int:
    """Exit 0 when the gateway is well, 1 when it has problems, 5 when there is none or it does not answer."""
    house = open_house(args.home)
    house.exists()
    found = house.gateway()
    if found is None:
        raise Unavailable(
            f"no gateway is running for {house.path}: nothing fires", "start one with `horae up`", home=house.path
        )
    if not found["alive"]:
        raise Unavailable(
            f"the gateway (pid {found.get('pid')}) is stuck: it holds {house.path} and does not answer",
            "stop that process, then start `horae up` again",
            gateway=dict(found),
        )
    answer: dict[str, Any] = {
        "gateway": {key: found.get(key) for key in ("alive", "pid", "since", "version")},
        **{key: found.get(key) for key in ("next_due", "lateness_ms", "live_runs", "waiting", "problems", "stopping")},
        "deliveries": found.get("deliveries"),
        "gateways": found.get("gateways"),
        "budget": found.get("budget"),
    }

    def render() -> None:
        late = answer["lateness_ms"]
        lateness = (
            f"p50 {late['p50']} ms, p99 {late['p99']} ms, max {late['max']} ms (last {late['count']})"
            if late and late["count"]
            else "no run yet"
        )
        alive = f"alive, pid {found['pid']}, since {found['since']}, version {found['version']}"
        if house.cluster:
            alive = f"{sum(one['alive'] for one in answer['gateways'])} alive, on a shared database"
        if answer["stopping"]:
            alive += f"; {'all are' if house.cluster else 'it is'} stopping: nothing new starts"
        output.pairs([
            ("gateways" if house.cluster else "gateway", output.paint(alive, "green")),
            ("next due", answer["next_due"] or "nothing is planned"),
            ("lateness", lateness),
            ("running", ", ".join(f"{item['job']} ({item['run']})" for item in answer["live_runs"] or ()) or "nothing"),
            ("messages", _messages(answer["deliveries"])),
            ("agents today", budget_words(answer["budget"])),
        ])  # fmt: skip
        if house.cluster:
            _gateways(answer["gateways"], output)
        for item in answer["waiting"] or ():
            output.text(f"  waiting for you: {item['kind']}: {item['job']}: {item['what']}")
            if item["hint"]:
                output.text(f"    {item['hint']}")
        for problem in answer["problems"] or ():
            output.text(output.paint(f"  problem: {problem}", "red"))

    output.emit(answer, render)
    return 1 if answer["problems"] else 0


def budget_words(found: dict[str, Any] | None) -> str | None:
    """What agents have used today, and what is left."""
    if found is None:
        return None
    tokens, usd = found["tokens"], found["usd"]
    words = f"{tokens['used']:,} tokens, ${usd['used']:.2f}"
    if tokens["reserved"] or usd["reserved"]:
        words += f"; {tokens['reserved']:,} tokens, ${usd['reserved']:.2f} put aside for live runs"
    left = [f"{tokens['left']:,} tokens"] if tokens["left"] is not None else []
    left += [f"${usd['left']:.2f}"] if usd["left"] is not None else []
    return words + (f"; {' and '.join(left)} left" if left else "; no limit for a day ([budget] in config.toml)")


def _messages(found: dict[str, Any] | None) -> str:
    """What is still to be sent."""
    if not found or not found["pending"]:
        return "none to be sent"
    held = f", {found['held']} of them for a digest" if found["held"] else ""
    return f"{found['pending']} to be sent{held}, the next at {found['next']}"


def _gateways(gateways: list[dict[str, Any]], output: Output) -> None:
    """Whoever works on a shared store, one a line."""
    rows: list[tuple[object, ...]] = []
    for one in gateways:
        state = "stopping" if one["draining"] else "alive"
        if not one["alive"]:
            state = f"gone, its lease ended {one['lease_until']}"
        rows.append(
            (one["host"].split("/")[0], one["pid"], state, " ".join(one["labels"]), one["live_runs"], one["since"])
        )
    output.table(("HOST", "PID", "STATE", "LABELS", "RUNNING", "SINCE"), rows, soft=(0, 3))


def options_doctor(parser: ArgumentParser) -> None:
    """`doctor` takes nothing of its own."""


def do_doctor(args: Namespace, output: Output) -> int:
    """Exit 1 when anything is not well."""
    house = open_house(args.home)
    house.exists()
    gateway, asked = None, False
    try:
        gateway = house.gateway()
        asked = True
        misnamed = load("store.jobfolder", "JobFolder")(house.jobs).misnamed()
        answer = house.view("app.doctor", "doctor", gateway=gateway, misnamed=misnamed)
    except Problem as problem:
        answer = load("app.doctor", "stranded")(house.path, problem, gateway=gateway, asked=asked)
    output.emit(answer, lambda: render_checks(answer, output))
    return 0 if answer["ok"] else 1


def options_version(parser: ArgumentParser) -> None:
    """`version` takes nothing of its own."""


def do_version(_args: Namespace, output: Output) -> int:
    """Print the version."""
    answer = {
        "version": __version__,
        "python": ".".join(map(str, sys.version_info[:3])),
        "tzdata": load("timing.zones", "version")(),
        "system": os.uname().sysname,
    }
    output.emit(
        answer, lambda: output.text(f"horae {__version__} (Python {answer['python']}, tzdata {answer['tzdata']})")
    )
    return 0
