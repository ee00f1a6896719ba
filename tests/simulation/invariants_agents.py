"""What must hold where agents work: reckoned from what each agent was given, did and told, cut off where it really ended.

Budgets have a module of their own.
"""

from __future__ import annotations

from collections import Counter
from sqlite3 import Row
from typing import TYPE_CHECKING, Any

from horae.core.activity import Work
from horae.core.admission import CANCELLED
from horae.core.agentoutcome import FINAL
from horae.core.model import Job
from tests.simulation.invariants_budgets import check_budgets
from tests.support.outside import Effect
from tests.support.record import Record, detail_of

if TYPE_CHECKING:
    from tests.simulation.invariants import Expected

ENDED = ("completed", "failed", "cancelled")
NOT_AGAIN = "; not tried again: "
NO_MORE = (NOT_AGAIN, CANCELLED)  # why what was begun does not go on


def check_agents(record: Record, expected: dict[str, Expected]) -> None:
    """All of them."""
    check_budgets(record, expected)
    what_is_left_is_of_runs_that_ended(record)
    questions_are_decided_once(record)
    what_goes_on_later_goes_on_from_where_it_was(record, expected)
    each_success_orders_what_follows_once(record, expected)


# ── what runs leave


def ended_under_their_token(record: Record) -> list[tuple[Row, Effect, Work]]:
    """The runs with an agent whose owner has written how they ended, in that order, and what each had told by then."""
    effects = {effect.run_id: effect for effect in record.world.effects if effect.play is not None}
    order = {entry["run_id"]: entry["seq"] for entry in record.journal if entry["what"] in ENDED and entry["run_id"]}
    ended = [
        run for run in record.runs if run["state"] in ENDED and run["resolved_by"] is None and run["id"] in effects
    ]
    found: list[tuple[Row, Effect, Work]] = []
    for run in sorted(ended, key=lambda run: order[run["id"]]):
        effect = effects[run["id"]]
        assert effect.play is not None
        found.append((run, effect, effect.play.work(effect.lived_s)))
    return found


def is_replay(record: Record, run: Row) -> bool:
    return record.by_key[run["key"]]["replay_of"] is not None


def what_is_left_is_of_runs_that_ended(record: Record) -> None:
    """Notes, drafts and what is watched are as if all that ended, and nothing else, had been written down in its turn."""
    notes: dict[tuple[str, str], tuple[str, str]] = {}
    watched: dict[str, tuple[str, str, str]] = {}
    drafts: Counter[tuple[str, str, int]] = Counter()
    for run, _, work in ended_under_their_token(record):
        if is_replay(record, run):
            continue
        for key, value in work.notes:
            if value is None:
                notes.pop((run["job_id"], key), None)
            else:
                notes[run["job_id"], key] = (value, run["id"])
        drafts.update((run["id"], str(draft["what"]), draft["body"]["number"]) for draft in work.drafts)
        if run["state"] == "completed" and work.watched is not None:
            watched[run["job_id"]] = (*work.watched, run["id"])
    rows = record.world.rows
    are = {(row["job_id"], row["key"]): (row["value"], row["run_id"]) for row in rows("SELECT * FROM notepad")}
    assert are == notes, f"notepads: {are}, not {notes}"
    baselines = {row["job_id"]: (row["sha256"], row["text"], row["run_id"]) for row in rows("SELECT * FROM watched")}
    assert baselines == watched, f"baselines: {baselines}, not {watched}"
    asked = Counter(
        (row["run_id"], row["kind"], body_of(row)["number"]) for row in rows("SELECT * FROM ask WHERE kind <> 'call'")
    )
    assert asked == drafts, f"drafts: {asked - drafts} too many, {drafts - asked} are lost"


def body_of(ask: Row) -> dict[str, Any]:
    return detail_of({"detail": ask["body"]})  # pyright: ignore[reportArgumentType]


# ── what waits for a person, or for a provider


def questions_are_decided_once(record: Record) -> None:
    """By a person, by the time, or by the end of what they were for; and what a person said stays so."""
    world = record.world
    assert world.agents is not None
    said = Counter(ask_id for ask_id, _ in world.agents.decided)
    assert max(said.values(), default=1) == 1, f"decided twice: {said.most_common(1)}"
    words = {ask_id: "approved" if approved else "denied" for ask_id, approved in world.agents.decided}
    told = Counter(detail_of(entry)["ask"] for entry in record.journal if entry["what"] in ("approved", "denied"))
    assert told == said, f"words that were taken: {said}; journaled: {told}"
    for row in world.rows("SELECT * FROM ask"):
        if row["id"] in words:
            assert row["decision"] == words[row["id"]], f"{row['id']} is {row['decision']}, and was {words[row['id']]}"
        elif row["kind"] != "call":
            assert row["decision"] is None, f"nobody has decided {row['id']}"
        elif row["decision"] is not None:
            assert row["decision"] in ("expired", "denied"), f"nobody has approved {row['id']}"


def what_goes_on_later_goes_on_from_where_it_was(record: Record, expected: dict[str, Expected]) -> None:
    """P1, P2 of a slot that was begun: it goes on once, after its last run, from what that left, and comes to an end."""
    effects = {effect.run_id: effect for effect in record.world.effects if effect.play is not None}
    asks = {row["run_id"]: row for row in record.world.rows("SELECT * FROM ask WHERE kind = 'call'")}
    for key, attempts in record.attempts.items():
        if not attempts:
            continue
        state: str | None = None
        asked: Row | None = None
        over_s, outages = 0.0, 0
        for run in attempts:
            effect = effects.get(run["id"])
            if effect is None or effect.play is None:
                continue
            task, work = effect.play.task, effect.play.work(effect.lived_s)
            assert effect.began_s >= over_s, f"{key}: {run['id']} began before the run before it was over"
            over_s = effect.ends_s
            assert task["held"] == outages, f"{run['id']} was told of {task['held']} outages, not {outages}"
            assert task["state"] == state, f"{key}: {run['id']} goes on from {task['state']}, not {state}"
            decision, row = task["decision"], asked
            assert (decision is None) == (row is None), (
                f"{key}: {run['id']} was told {decision}, of {row and row['id']}"
            )
            if decision is not None and row is not None:
                assert decision["approved"] == (row["decision"] == "approved"), f"{key}: {decision}, {row['decision']}"
                assert decision["digest"] == body_of(row)["digest"], f"{key}: a word on another call"
            state, asked = None, None
            outages += record.later.get(run["id"]) == "held"
            if run["id"] in record.later:
                assert run["held"] == outages, f"{run['id']}: its provider could not answer {outages} times"
                assert run["state"] == "released", f"{run['id']} goes on later, and is {run['state']}"
                assert work.how == record.later[run["id"]], f"{run['id']} goes on later, and had ended: {work.how}"
                state, asked = work.state, asks.get(run["id"]) if work.how == "parked" else None
            elif run["state"] in ENDED and run["resolved_by"] is None:
                assert work.how not in ("parked", "held") or effect.ended_by, (
                    f"{run['id']} waits, and is {run['state']}"
                )
        if any(run["id"] in record.later for run in attempts) and key in record.by_key:
            row = record.by_key[key]
            assert row["state"] == "settled", f"{key} was begun, waits, and never came to its end"
            last = [run for run in attempts if run["started_at"]][-1:]
            if any(run["id"] in record.later for run in last) and row["outcome"] != "blocked":
                says = row["reason"]
                assert row["outcome"] == "ran", f"{key} was begun, and is {row['outcome']}"
                assert any(why in says for why in NO_MORE), f"{key} was begun, and does not go on: {says}"
        _retries(record, key, attempts, expected, effects)


def _retries(
    record: Record, key: str, attempts: list[Row], expected: dict[str, Expected], effects: dict[str, Effect]
) -> None:
    """Only failures count: what went on later takes no try away, and gives none."""
    job: Job = expected[attempts[0]["job_id"]].job
    failed = [run for run in attempts if record.told_of(run["id"], "failed")]
    tried_again = [run for run in failed if record.told_of(run["id"], "retry_planned")]
    most = 0 if is_replay(record, attempts[0]) else job.retries.max or 0
    assert len(tried_again) <= most, f"{key}: tried again {len(tried_again)} times, of {most}"
    if not failed or failed[-1] in tried_again or failed[-1]["id"] not in effects or len(failed) > most:
        return
    effect = effects[failed[-1]["id"]]
    assert effect.play is not None
    final = effect.play.work(effect.lived_s).how in FINAL
    words = failed[-1]["reason"]
    assert final or NOT_AGAIN in words, f"{key}: {len(failed)} of {most} tries, and {words}"


# ── what follows what


def each_success_orders_what_follows_once(record: Record, expected: dict[str, Expected]) -> None:
    """Each run that completed, but for replays, orders one run of each active job that names its own; others order none."""
    ordered: Counter[tuple[str, str]] = Counter()
    for row in record.occurrences:
        if row["caused_by"] is not None:
            ordered[row["caused_by"], row["job_id"]] += 1
    assert max(ordered.values(), default=1) == 1, f"ordered twice: {ordered.most_common(1)}"
    refused = Counter(
        (entry["run_id"], entry["job_id"]) for entry in record.journal if entry["what"] == "after_refused"
    )
    completed = {
        entry["run_id"]: entry
        for entry in record.journal
        if entry["what"] == "completed" and entry["run_id"] and not detail_of(entry).get("target")
    }
    wanted: set[tuple[str, str]] = set()
    for run_id, entry in completed.items():
        run = record.run[run_id]
        source = expected[run["job_id"]].job
        for follower in (each.job for each in expected.values() if each.job.after == source.slug):
            if is_replay(record, run):
                continue
            pair = (run_id, follower.id)
            wanted.add(pair)
            chain = _chain(record, run)
            if follower.id in chain:
                assert ordered[pair] == 0, f"{follower.slug} is ordered after itself"
                assert refused[pair] == _active(record, follower.id, entry)[0], f"{pair}: nobody said so"
            else:
                surely, perhaps = _active(record, follower.id, entry)
                assert surely <= ordered[pair] <= perhaps, f"{follower.slug} after {run_id}: ordered {ordered[pair]}"
    assert set(ordered) <= wanted, f"ordered after what is no success: {set(ordered) - wanted}"


def _chain(record: Record, run: Row) -> list[str]:
    """The jobs of which each started the next one, from this run back."""
    found = [run["job_id"]]
    while (cause := record.by_key[run["key"]]["caused_by"]) is not None:
        run = record.run[cause]
        found.append(run["job_id"])
    return found


def _active(record: Record, job_id: str, when: Row) -> tuple[int, int]:
    """Whether a job was active when something was written: surely, and perhaps (1 or 0 each)."""
    paused = over = False
    changed = False
    for entry in record.journal:
        if entry["job_id"] != job_id or entry["run_id"] is not None:
            continue
        before = entry["seq"] < when["seq"]
        if not before and entry["at"] != when["at"]:
            break
        what = entry["what"]
        if what not in ("paused", "resumed", "removed", "completed_job", "created", "revived", "changed"):
            continue
        changed = changed or entry["at"] == when["at"]
        if before:
            paused = what == "paused" or (paused and what != "resumed")
            anew = what == "revived" or (what == "changed" and detail_of(entry)["cadence_changed"])
            over = what in ("removed", "completed_job") or (over and not anew)
    active = int(not paused and not over)
    return (0, 1) if changed else (active, active)
