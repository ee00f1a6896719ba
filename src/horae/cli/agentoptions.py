"""The options that say what an agent may use and is given, and how `show` tells it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from horae.errors import Usage


def agent_options(parser: ArgumentParser) -> None:
    """Keys of a job file, as options."""
    parser.add_argument("--use", metavar="NAME", help="which agent works on it: a name of config.toml, or builtin")
    parser.add_argument("--skill", metavar="S", action="append", help="a skill; may be repeated")
    parser.add_argument("--model", metavar="M", help="the model for an agent")
    parser.add_argument("--fallback", metavar="M", action="append", help="a model while the first one cannot answer")
    parser.add_argument(
        "--tools", metavar="T", help="toolsets that it may use, for example files,web; none for no tools"
    )
    parser.add_argument("--approve", metavar="T", help="toolsets of which a person is asked before each use")
    parser.add_argument("--after", metavar="JOB", help="the job whose success starts this one")
    parser.add_argument(
        "--context-from",
        metavar="JOB",
        action="append",
        help="a job, or self, whose last result is told; may be repeated",
    )
    parser.add_argument("--context-age", metavar="D", help="results that are older are left out, for example 2 days")
    parser.add_argument("--watch", metavar="SOURCE", help="a URL or a script: the agent is called when it has changed")
    parser.add_argument("--empty", metavar="WORD", help="what an empty answer means: fail (default), silent")
    parser.add_argument("--schema", metavar="FILE", help="a file with the JSON schema that the answer must meet")


def agent_fields(args: Namespace) -> dict[str, Any]:
    """The given options as keys of a job file; None for those that were not given."""
    if args.use is not None and args.agent is False:
        raise Usage("--no-agent and --use exclude each other", "leave one of them out")
    tools = None if args.tools is None else _listed(args.tools)
    return {
        "agent": args.use if args.use is not None else args.agent,
        "skills": args.skill,
        "model": args.model,
        "fallbacks": args.fallback,
        "tools": [] if tools == ["none"] else tools,
        "approve": None if args.approve is None else _listed(args.approve),
        "after": args.after,
        "context_from": args.context_from,
        "context_age": args.context_age,
        "watch": args.watch,
        "empty": args.empty,
        "schema": None if args.schema is None else _content(args.schema),
    }


def agent_rows(job: dict[str, Any]) -> list[tuple[str, str | None]]:
    """What a job says about it, for `show`: a label and words, None for what it leaves as it is."""
    return [
        ("agent", job["agent"] if isinstance(job.get("agent"), str) else None),
        ("skills", ", ".join(job.get("skills") or []) or None),
        ("fallbacks", ", ".join(job.get("fallbacks") or []) or None),
        ("approve", ", ".join(job.get("approve") or []) or None),
        ("after", job.get("after")),
        ("context", ", ".join(job.get("context_from") or []) or None),
        ("watch", job.get("watch")),
        ("empty", "an empty answer is fine" if job.get("empty") == "silent" else None),
        ("answer", "as its JSON schema says" if job.get("schema") else None),
    ]


def resolved_rows(resolved: dict[str, Any]) -> list[tuple[str, str | None]]:
    """What it comes to: the agent, its model and where that comes from, its tools and limits."""
    if not resolved.get("agent"):
        return []
    model = resolved["model"]
    where = "" if model is None else f" ({resolved['model_from']}, from {resolved['provider'] or 'nobody'})"
    usd = "" if resolved["usd"] is None else f", ${resolved['usd']:.2f}"
    default = " (by default)" if resolved["tools_by_default"] and resolved["kind"] != "command" else ""
    none = "none" if resolved["kind"] != "command" else "those of its own"
    return [
        ("works on it", resolved["agent"]),
        ("model", f"{model or 'none'}{where}"),
        ("tools", (", ".join(resolved["tools"]) or none) + default),
        ("a run may use", f"{resolved['turns']} turns, {resolved['tokens']:,} tokens{usd}"),
    ]


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _content(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise Usage(f"--schema {path}: {why}", "name a file with a JSON schema") from error
