"""Scale is by index: what the store does all the time finds its rows by one, whatever else the tables hold.

The verbs are called, and each statement that they send is explained with the values that it was sent with, so what is
tested is what runs. Around the few jobs that they are about lie tens of thousands of others, with their history. Beside
the plan the work itself is counted: steps of SQLite's machine, rows that PostgreSQL touched.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from horae.core.delivery import Manner, Receipt
from horae.core.model import End
from horae.ports import Hearers
from tests.support.builders import MINUTE, START, a_job, addressed, an_ending, at, us
from tests.support.plans import nodes_of, touched
from tests.support.servers import server_or_skip
from tests.support.stores import ADAPTERS
from tests.support.world import scratch

JOBS = 20_000
LARGE = ("job", "occurrence", "run", "journal", "output", "delivery")
ALIASES = {"j": "job", "o": "occurrence", "r": "run", "e": "journal", "d": "delivery"}
WORK_MAX = {"sqlite": 40_000, "postgres": 1_000}  # of one verb; to read a large table whole takes far more
YEAR = us(START) + 365 * 86_400_000_000
COUNT = f"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {JOBS})"
OLD = "INSERT INTO gateway (id, host, boot, pid, pid_started, version, since_at) VALUES ('old', '', '', 1, 1, '', 0)"
Values = dict[str, str]  # column → what it holds for the row number i

NOBODY = Hearers(alerts=lambda job: ((), Manner()), fallback=lambda: ())


def named(letter: str) -> str:
    return f"'{letter}' || CAST(i AS TEXT)"


JOB: Values = {
    **dict.fromkeys(("id", "slug", "name"), named("f")),
    **dict.fromkeys(("schedule", "meaning", "definition", "cadence", "digest", "signature"), "'{}'"),
    **dict.fromkeys(("anchor_at", "created_at", "changed_at"), "0"),
    "timezone": "'UTC'",
    "cursor_at": str(YEAR),
    "runs_on": "CASE WHEN i % 3 = 0 THEN 'gpu' END",
    "completed_at": "CASE WHEN i % 50 = 0 THEN 1 END",
    "removed_at": "CASE WHEN i % 40 = 7 THEN 1 END",
}
SLOT: Values = {"job_id": named("f"), "trigger": "'schedule'", "offset_s": "0", "planned_at": "0"}
PAST: Values = {
    **SLOT,
    **dict.fromkeys(("slot_at", "due_at", "settled_at"), "i"),
    "key": named("past"),
    "state": "'settled'",
    "outcome": "'ran'",
}
NEXT: Values = {**SLOT, **dict.fromkeys(("slot_at", "due_at"), f"{YEAR} + i"), "key": named("next")}
RUN: Values = {
    **dict.fromkeys(("token", "claimed_at", "started_at", "finished_at"), "i"),
    "id": named("r"),
    "key": named("past"),
    "job_id": named("f"),
    "attempt": "1",
    "gateway_id": "'old'",
    "state": "CASE WHEN i % 1000 = 0 THEN 'failed' WHEN i % 1001 = 0 THEN 'unknown' ELSE 'completed' END",
}
OUTPUT: Values = {
    **dict.fromkeys(("message", "stdout", "stderr"), "'text'"),
    **dict.fromkeys(("stdout_cut", "stderr_cut"), "0"),
    "run_id": named("r"),
}
DELIVERY: Values = {
    **dict.fromkeys(("created_at", "changed_at", "expires_at"), "i"),
    "run_id": named("r"),
    "job_id": named("f"),
    "target": "'local'",
    "address": "'chat:' || CAST(i % 5 AS TEXT)",
    "state": "CASE WHEN i % 2 = 0 THEN 'pending' ELSE 'delivered' END",  # held until the end of quiet hours, say
    "due_at": f"{YEAR} + i",
    "title": "'t'",
    "alert": "0",
}
ENTRY: Values = {
    **dict.fromkeys(("at", "number"), "i"),
    "seq": "1000000 + i",
    "actor": "CASE WHEN i % 200 = 0 THEN 'anna' ELSE 'gateway' END",
    "what": "'planned'",
    "job_id": named("f"),
    "key": named("past"),
    "detail": "'{}'",
    "chain": "'x'",
}
BULK = [  # jobs that are not due for a year, with what has happened and what is to come
    ("job", JOB),
    ("occurrence", PAST),
    ("occurrence", NEXT),
    ("run", RUN),
    ("output", OUTPUT),
    ("delivery", DELIVERY),
    ("journal", ENTRY),
]


class Sent(NamedTuple):
    """A statement, the verb that sent it, and how it is carried out."""

    verb: str
    sql: str
    plan: str


class Full:
    """A store with all that in it, and what its verbs send."""

    def __init__(self, made: Any, kind: str) -> None:
        self.s, self.kind = made, kind
        self.sent: list[Sent] = []
        self.work: Counter[str] = Counter()
        """verb → steps or rows."""
        self.verb = ""
        made.damage(OLD)
        for table, columns in BULK:
            made.damage(
                f"INSERT INTO {table} ({', '.join(columns)}) {COUNT} SELECT {', '.join(columns.values())} FROM n"
            )
        if kind == "postgres":
            made.damage("ANALYZE")  # as its autovacuum would; nobody does it on SQLite
        self._watch(made.store.db)
        use(self)

    def do(self, verb: str, work: Any) -> Any:
        self.verb = verb
        answer = self.s.do(work)
        self.verb = ""
        return answer

    def ask(self, verb: str, question: Any) -> Any:
        reader = self.s.reader()
        self._watch(reader._db)
        self.verb = verb
        answer = question(reader)
        self.verb = ""
        return answer

    def _watch(self, db: Any) -> None:
        """Explain what goes through a connection, before it does, and count what it costs."""
        execute, executemany = db.execute, db.executemany
        if self.kind == "sqlite":
            db.set_progress_handler(self._step, 10)

        def one(sql: str, args: Any = ()) -> Any:
            self._explain(execute, sql, args)
            return execute(sql, args)

        def many(sql: str, rows: Any) -> Any:
            for row in list(rows)[:1]:
                self._explain(execute, sql, row)
            return executemany(sql, rows)

        db.execute, db.executemany = one, many

    def _step(self) -> None:
        self.work[self.verb] += 10

    def _explain(self, execute: Any, sql: str, args: Any) -> None:
        word = sql.split(None, 1)[0].upper()
        if not self.verb or word not in ("SELECT", "UPDATE", "DELETE", "WITH"):
            return
        verb, self.verb = self.verb, ""  # what explaining costs is not its cost
        if self.kind == "sqlite":
            rows = execute(f"EXPLAIN QUERY PLAN {sql}", args).fetchall()
            plan = "\n".join(str(row[-1]) for row in rows)
        else:
            does = "ANALYZE, TIMING OFF, " if word == "SELECT" else ""
            ((found,),) = execute(f"EXPLAIN ({does}FORMAT JSON) {sql}", args).fetchall()
            nodes = list(nodes_of(found[0]["Plan"]))
            self.work[verb] += sum(map(touched, nodes))
            plan = "\n".join(json.dumps({k: v for k, v in node.items() if k != "Plans"}) for node in nodes)
        self.sent.append(Sent(verb, " ".join(sql.split()), plan))
        self.verb = verb

    def full_scans(self, plan: str) -> list[str]:
        """The large tables that a plan reads from one end to the other."""
        if self.kind == "postgres":
            return [name for name in re.findall(r'"Seq Scan".*?"Relation Name": "(\w+)"', plan) if name in LARGE]
        found = re.findall(r"(?m)^SCAN (\w+)(?! USING (?:COVERING )?INDEX)", plan)
        made = set(
            re.findall(r"(?m)^(?:MATERIALIZE|CO-ROUTINE) (\w+)", plan)
        )  # of rows found by an index, under a table's alias
        return [name for name in found if name not in made and ALIASES.get(name, name) in LARGE]


def use(full: Full) -> None:
    """Call what the engine and people call all the time, on a few jobs among the many."""
    s, do, ask = full.s, full.do, full.ask
    jobs = [a_job(f"job{n}", repeat=50 if n == 6 else None) for n in range(12)]
    for job in jobs:
        do("take in", lambda tx, job=job: tx.jobs.upsert(job, signature="s", meaning="m", actor="test"))
    one, two = s.sign_on("g1"), s.sign_on("g2")
    s.clock.time = at("08:01")
    claims = do("claim", lambda tx: tx.runs.claim_due(one, 9))
    do("next due", lambda tx: tx.runs.next_due())
    do("start", lambda tx: tx.runs.start_all(claims[:8]))
    do("note", lambda tx: tx.runs.note_process(claims[0], 7, 7))
    do("renew", lambda tx: tx.runs.renew(one))
    do("asked to end", lambda tx: tx.runs.asked_to_end(one))
    do("ask to end", lambda tx: tx.runs.ask_to_end(claims[1].run_id, actor="p", reason="r"))
    do(
        "conclude",
        lambda tx: tx.runs.conclude_all([End(claim, an_ending(), addressed(claim)) for claim in claims[2:4]]),
    )
    do("retry", lambda tx: tx.runs.conclude_all([End(claims[4], an_ending("fail"), addressed(claims[4]), retry_s=5.0)]))
    do("finish", lambda tx: tx.runs.finish(claims[5], an_ending(), addressed(claims[5])))
    parcels = do("send", lambda tx: tx.outbox.take_due(one, 9))
    do("record", lambda tx: tx.notices.record(parcels[0], Receipt("accept")))
    do("look for what nobody's run brings about", lambda tx: tx.notices.look(NOBODY))
    do("settle", lambda tx: tx.runs.settle(claims[5]))
    do("settle", lambda tx: tx.runs.conclude_all([End(claims[6], an_ending(), addressed(claims[6], "local"))]))
    do("release", lambda tx: tx.runs.release(claims[8], "why"))
    s.clock.time = at("08:05")  # several slots of each are due
    do("catch up", lambda tx: tx.runs.claim_due(one, 100))
    do("nothing due", lambda tx: tx.runs.claim_due(one, 100))
    do("others", lambda tx: tx.runs.others(two))
    do("take over", lambda tx: tx.runs.take_over(two, {one.id}))
    do("pause", lambda tx: tx.jobs.pause(jobs[9].id, actor="p", reason=None))
    do("resume", lambda tx: tx.jobs.resume(jobs[9].id, actor="p"))
    ordered = do("order", lambda tx: tx.jobs.order_run(jobs[9].id, run_id="m" * 16, actor="p", input=None))
    slot = at("08:30")
    moved = do("move", lambda tx: tx.jobs.set_exception(jobs[9].id, slot, "move", due=slot + MINUTE, actor="p"))
    do("remove", lambda tx: tx.jobs.remove(jobs[10].id, actor="p", reason="gone"))
    do("journal", lambda tx: tx.journal.append("said", actor="p"))
    do("zones", lambda tx: tx.zones.follow("f5", 1))
    for n in range(3):
        s.put(a_job(f"gpu{n}", group="gpu", priority=1))
    s.clock.time = at("08:06")
    do("begin to wait", lambda tx: tx.runs.claim_due(one, 100))
    do("wait", lambda tx: tx.runs.claim_due(one, 100))
    (live,) = s.rows("SELECT r.* FROM run r JOIN job j ON j.id = r.job_id WHERE j.concurrency_group = 'gpu'")
    s.damage("UPDATE occurrence SET state = 'settled', outcome = 'ran' WHERE key = ?", live["key"])
    do("wait no more", lambda tx: tx.runs.claim_due(one, 100))
    do("no room", lambda tx: tx.runs.claim_due(one, 0))

    ask("list", lambda r: r.list_jobs(all=False, state=None, limit=20, cursor="f2"))
    ask("list all", lambda r: r.list_jobs(all=True, state=None, limit=20, cursor=None))
    ask("show", lambda r: r.job(jobs[0].id))
    for text in ("f17", "job3", jobs[3].id[:11]):
        ask("find a job", lambda r, text=text: r.find_job(text))
    ask("find a removed job", lambda r: r.find_job("job10", removed=True))
    ask("runs", lambda r: r.list_runs(job_id=None, state=None, limit=20, cursor=None))
    ask("runs of a job", lambda r: r.list_runs(job_id="f17", state=None, limit=20, cursor=None))
    ask("failed runs", lambda r: r.list_runs(job_id=None, state="failed", limit=20, cursor=None))
    ask("cancelled runs", lambda r: r.list_runs(job_id=None, state="cancelled", limit=20, cursor=None))
    ask("live runs", lambda r: r.list_runs(job_id=None, state="running", limit=20, cursor=None))
    ask("unknown runs", lambda r: r.list_runs(job_id=None, state="unknown", limit=20, cursor=None))
    ask("find a run", lambda r: r.find_run(claims[0].run_id[:12]))
    ask("output", lambda r: r.output(claims[2].run_id))
    ask("planned", lambda r: r.planned("f17", 5))
    ask("ahead", lambda r: r.ahead("f17", us(s.clock.time), 5))
    ask("why", lambda r: r.occurrences("f17", slot_at=None, limit=5))
    ask("why one", lambda r: r.occurrence(r.occurrence_by_key(ordered["key"])))
    ask("undo", lambda r: r.journal_entry(None))
    ask("undo one", lambda r: (r.journal_entry(moved), r.was_undone(moved)))
    ask("agenda", lambda r: r.agenda(20))
    ask("next of all", lambda r: r.next_due())
    ask("waiting", lambda r: r.waiting(20, us(s.clock.time)))
    stretch = {"job_id": None, "limit": 20}
    ask("the past", lambda r: r.past(0, YEAR, **stretch))
    ask("the past of a job", lambda r: r.past(0, YEAR, job_id="f17", limit=20))
    ask("reaching into a stretch", lambda r: r.reaching(us(s.clock.time), job_id=jobs[9].id))
    ask("waiting in a stretch", lambda r: r.waiting_slots(0, YEAR, now=us(s.clock.time), **stretch))
    ask("runs of a stretch", lambda r: r.ran(0, YEAR, **stretch))
    ask("slots without a run", lambda r: r.not_run(0, YEAR, job_id=jobs[9].id, limit=20))
    ask("lateness", lambda r: r.lateness_ms(100))


@pytest.fixture(scope="module", params=sorted(ADAPTERS))
def full(request: pytest.FixtureRequest) -> Iterator[Full]:
    with scratch() as folder:
        with server_or_skip():
            made = ADAPTERS[request.param](folder)
        yield Full(made, request.param)
        made._spoilt = True  # to sweep all this would take longer than to make a new one
        made.close()


def test_no_verb_reads_a_large_table_from_one_end_to_the_other(full: Full) -> None:
    found = [f"{sent.verb}: {sent.sql}\n{sent.plan}" for sent in full.sent if full.full_scans(sent.plan)]
    assert len(full.sent) > 80
    assert not found, "\n\n".join(dict.fromkeys(found))


def test_what_a_verb_costs_does_not_grow_with_what_lies_at_rest(full: Full) -> None:
    assert len(full.work) > 30
    most = WORK_MAX[full.kind]
    assert {verb for verb, work in full.work.items() if verb and work > most} == set(), dict(full.work)


HOT = [  # the verb, words of its statement, and the index that it must use, or one of them
    ("claim", "SELECT key, job_id, due_at", ("occurrence_ready", "occurrence_due")),
    ("nothing due", "SELECT key, job_id, due_at", ("occurrence_ready", "occurrence_due")),
    ("wait", "min(waits_for)", ("occurrence_waiting",)),
    ("wait", "concurrency_group, count(*)", ("occurrence_live",)),
    ("wait no more", "AND waits_for = ", ("occurrence_waiting",)),
    ("no room", "r.gateway_id = ", ("run_live",)),
    ("next due", "min(due_at)", ("occurrence_due",)),
    ("send", "RECURSIVE waiting", ("delivery_waiting",)),
    ("send", "SELECT id FROM delivery", ("delivery_waiting",)),
    ("claim", "AS live", ("occurrence_live",)),
    ("asked to end", "cancel_reason", ("run_cancel",)),
    ("others", "FROM gateway", ("run_live",)),
    ("others", "FROM gateway", ("occurrence_live",)),
    ("take over", "UNION ALL", ("run_live",)),
    ("list", "FROM job j LEFT JOIN", ("job_slug",)),
    ("list", "FROM job j LEFT JOIN", ("occurrence_open",)),
    ("list", "FROM job j LEFT JOIN", ("run_job",)),
    ("runs", "FROM run r JOIN", ("run_recent",)),
    ("runs of a job", "FROM run r JOIN", ("run_job",)),
    ("failed runs", "FROM run r JOIN", ("run_failed",)),
    ("cancelled runs", "FROM run r JOIN", ("run_given_up",)),
    ("find a removed job", "slug = :text AND removed_at IS NOT NULL", ("job_removed",)),
    ("find a removed job", "name = :text AND removed_at IS NOT NULL", ("job_removed_name",)),
    ("why", "FROM journal", ("journal_key",)),
    ("undo", "FROM journal", ("journal_people",)),
    ("undo", "FROM journal", ("journal_undone",)),
    ("undo one", "undoes = ", ("journal_undone",)),
    ("waiting", "r.state = 'unknown'", ("run_unknown",)),
    ("waiting", "SELECT f.job_id FROM", ("run_failed",)),
    ("waiting", "e.at > ", ("journal_at",)),
]


@pytest.mark.parametrize(("verb", "words", "index"), HOT, ids=[f"{verb}-{index[0]}" for verb, _, index in HOT])
def test_a_hot_statement_uses_its_index(full: Full, verb: str, words: str, index: tuple[str, ...]) -> None:
    plans = [sent.plan for sent in full.sent if sent.verb == verb and words in sent.sql]
    assert plans, f"{verb} sends nothing with {words!r}"
    assert all(re.search(rf"\b({'|'.join(index)})\b", plan) for plan in plans), "\n\n".join(plans)
