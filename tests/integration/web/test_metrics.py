"""`/metrics` as Prometheus reads it, and the dashboard of Grafana against what it really gives."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families as parsed

from horae.web.exposed import FAMILIES
from tests.support.process import new_home
from tests.support.web import Served, served

ROOT = Path(__file__).parents[3]
SUFFIX = re.compile(r"_(bucket|sum|count|total)$")


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A home in which something has been done, badly and well; three jobs, of which metrics tell two apart."""
    home = new_home(tmp_path_factory.mktemp("metrics") / "home")
    home.config('commands = ["true", "sh"]\n[metrics]\njobs = 2\n[log]\nformat = "json"\n')
    home.script("bad.sh", "echo gone wrong >&2; exit 3\n")
    for slug, script in (("good", "hi.sh"), ("bad", "bad.sh"), ("third", "hi.sh")):
        home.write(slug, script=script)
    with served(home) as made:
        for slug in ("good", "bad", "third"):
            made.home.ended(made.home.json("run", slug)["run_id"])
        yield made


def scraped(at: Served) -> dict[str, Any]:
    answer = at.api("read").get("/metrics")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {family.name: family for family in parsed(answer.text)}


def value(found: dict[str, Any], name: str, **labels: str) -> float:
    family = found.get(name) or found[SUFFIX.sub("", name)]
    (one,) = [sample.value for sample in family.samples if sample.name == name and sample.labels == labels]
    return one


def test_it_says_what_was_done(at: Served) -> None:
    found = scraped(at)
    assert value(found, "horae_up") == 1
    assert value(found, "horae_runs_total", job="good", state="completed") == 1
    assert value(found, "horae_runs_total", job="bad", state="failed") == 1
    assert value(found, "horae_runs_total", job="other", state="completed") == 1, "metrics tell two jobs apart"
    assert value(found, "horae_lateness_seconds_count") == 3
    assert value(found, "horae_run_duration_seconds_count") == 3
    assert value(found, "horae_jobs", state="active") == 3
    assert value(found, "horae_gateways") == 1
    assert 0 < value(found, "horae_lease_remaining_seconds") < 3600
    assert value(found, "horae_journal_head") == at.home.sql("SELECT max(seq) FROM journal")[0][0]


def test_counters_rise(at: Served) -> None:
    before = value(scraped(at), "horae_runs_total", job="good", state="completed")
    at.home.ended(at.home.json("run", "good")["run_id"])
    assert value(scraped(at), "horae_runs_total", job="good", state="completed") == before + 1


def test_names_kinds_and_help_are_as_prometheus_wants_them(at: Served) -> None:
    text = at.api("read").get("/metrics").text
    assert re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE) == [
        (name, kind) for name, (kind, *_) in FAMILIES.items()
    ]
    for name, (kind, unit, labels, says) in FAMILIES.items():
        assert re.fullmatch(r"horae_[a-z][a-z_]*[a-z]", name)
        assert (kind == "counter") == name.endswith("_total"), name
        assert not unit or name.endswith(f"_{unit}"), name
        assert says.endswith(".")
        assert f"# HELP {name} {says}\n" in text
        assert not {"le", "quantile", "instance"} & set(labels)
    buckets = [line for line in text.splitlines() if line.startswith("horae_lateness_seconds_bucket")]
    counts = [float(line.split()[-1]) for line in buckets]
    assert counts == sorted(counts)
    assert 'le="+Inf"' in buckets[-1]


def test_who_may_look(at: Served) -> None:
    assert at.client().get("/metrics").status_code == 401
    assert at.client("ht_wrong").get("/metrics").status_code == 401


def test_the_page_has_what_there_is_and_nothing_else() -> None:
    page = (ROOT / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(horae_\w+)` \| (\w+) \| (.*?) \| (.*?) \|$", page, re.MULTILINE)
    wanted = [
        (name, kind, ", ".join(f"`{label}`" for label in labels), says)
        for name, (kind, _, labels, says) in FAMILIES.items()
    ]
    assert rows == wanted


# --- Grafana


def expressions(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("expr"), str):
            yield node["expr"]
        for each in node.values():
            yield from expressions(each)
    elif isinstance(node, list):
        for each in node:
            yield from expressions(each)


def test_the_dashboard_of_grafana_asks_only_for_what_there_is(at: Served) -> None:
    board = json.loads((ROOT / "docs" / "grafana" / "horae.json").read_text(encoding="utf-8"))
    samples = {sample.name: set(sample.labels) for family in scraped(at).values() for sample in family.samples}
    samples |= {"horae_budget_used": {"kind"}, "horae_budget_left": {"kind"}, "horae_budget_reserved": {"kind"}}
    samples |= {"horae_hook_calls_total": {"hook"}}
    asked = list(expressions(board))
    assert len(asked) >= 12
    for text in asked:
        names = re.findall(r"horae_\w+", text)
        assert names, text
        assert set(names) <= set(samples), text
        assert all(text.count(left) == text.count(right) for left, right in ("()", "[]", "{}"))
        known = {"le", "job"}.union(*(samples[name] for name in names))
        for inside in re.findall(r"\{([^}]*)\}", text):
            assert set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", inside)) <= known, text
        for by in re.findall(r"\bby \(([^)]*)\)", text):
            assert {label.strip() for label in by.split(",")} <= known, text
        words = set(re.findall(r"\b([a-z_]+)\s*\(", re.sub(r"horae_\w+", "", text)))
        assert words <= {"sum", "rate", "increase", "histogram_quantile", "max", "min", "by", "clamp_min", "time"}, text
    ids = [panel["id"] for panel in board["panels"]]
    assert len(set(ids)) == len(ids)


# --- the log


def test_each_line_of_the_log_can_be_taken_apart(at: Served) -> None:
    lines = (at.home.path / "state" / "horae.log").read_text(encoding="utf-8").splitlines()
    told = [json.loads(line) for line in lines]
    assert all({"at", "level", "event", "message"} <= set(one) for one in told)
    failed = next(one for one in told if one["event"] == "failed")
    assert (failed["job"], failed["level"]) == ("bad", "warning")
    assert "exit status 3" in failed["reason"] or "3" in failed["reason"]
    assert failed["run_id"]
    assert failed["key"]
