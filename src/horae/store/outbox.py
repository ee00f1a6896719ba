"""Deliveries: written in the transaction that brings them about, sent from here. See `core/states.py` for their table.

Invariants, held by the schema and by every UPDATE here naming the state that it expects:
- one row per run, kind, address and round; what a person sends anew is another round, and never what has arrived;
- one message at a time is under way to an address, in the order in which they are due;
- whoever sends shows a token: when a gateway is taken over, nothing that it says of its messages counts any more.

A delivery is no run's business: the slot is settled when the run has ended, whatever becomes of its messages.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from horae.core.delivery import Addressee, Item, Manner, Parcel, Receipt
from horae.core.instants import from_us, to_us
from horae.core.model import End, Owner
from horae.core.redelivery import next_try
from horae.core.states import DELIVERY, sources, target
from horae.errors import Conflict, Refused, Stale
from horae.limits import DIGEST_MAX
from horae.store.database import Db
from horae.store.journal import Journal
from horae.store.letters import COLUMNS, PLAN, Letter, letter_of, rows_of

# Two looks into an index for each address, however much waits there: a whole night's messages may, or those of an outage.
DUE = """
WITH RECURSIVE waiting (address) AS (
  SELECT min(address) FROM delivery WHERE state = 'pending'
  UNION ALL
  SELECT (SELECT min(d.address) FROM delivery d WHERE d.state = 'pending' AND d.address > waiting.address)
  FROM waiting WHERE waiting.address IS NOT NULL
)
SELECT w.address, w.due_at FROM (
  SELECT address, (SELECT min(d.due_at) FROM delivery d WHERE d.state = 'pending' AND d.address = waiting.address) AS due_at
  FROM waiting WHERE address IS NOT NULL
) w WHERE w.due_at <= ? AND w.address NOT IN (SELECT s.address FROM delivery s WHERE s.state = 'sending')
"""
FIRST = """
SELECT id FROM delivery WHERE state = 'pending' AND address = ? AND due_at <= ? ORDER BY due_at, id LIMIT 1
"""
ITEM = """
SELECT d.*, coalesce(d.body, u.message) AS says, j.slug, r.state AS ended, r.key, r.attachments, o.slot_at, o.offset_s
FROM delivery d LEFT JOIN run r ON r.id = d.run_id LEFT JOIN output u ON u.run_id = d.run_id
LEFT JOIN job j ON j.id = d.job_id LEFT JOIN occurrence o ON o.key = r.key WHERE d.id = ?
"""
SENDING = "SELECT id FROM delivery WHERE state = 'sending' AND gateway_id = ?"
ENDED_AT_ONCE = 200  # messages of one address that cannot be sent at all, in one look
CRASHED = "the gateway ended while it was being sent"
GONE = "what it would have said was pruned"


class Outbox:
    """The verbs on deliveries, in one transaction."""

    def __init__(self, db: Db, now: datetime, journal: Journal) -> None:
        self._db = db
        self.now = now
        self._us = to_us(now)
        self._journal = journal
        self.ended = self._more = False
        """Whether something is still due that could be seen to at once."""

    def plan_all(self, ends: Sequence[End], untold: Sequence[str | None], of: Sequence[str | None]) -> list[bool]:
        """The message of each run's end, for its addressees. Says of each whether anything is left to send.

        `untold` are the reasons not to tell what belongs to an incident that somebody was told of, `of` its id.
        """
        rows: list[tuple[object, ...]] = []
        left: list[bool] = []
        for end, why_not, incident in zip(ends, untold, of, strict=True):
            made = rows_of(letter_of(end, why_not, incident), end.to, end.manner, self.now)
            rows += made
            left.append(any(row[COLUMNS.index("state")] == "pending" for row in made))
        self._db.executemany(PLAN, rows)
        return left

    def put(self, letter: Letter, to: Sequence[Addressee], manner: Manner, round: int = 0) -> bool:
        """Any other message. Says whether something is to be sent."""
        rows = rows_of(letter, to, manner, self.now, round)
        self._db.executemany(PLAN, rows)
        return any(row[COLUMNS.index("state")] == "pending" for row in rows)

    def say(self, job_id: str, title: str, body: str, to: Sequence[Addressee], manner: Manner) -> bool:
        """A message that a job's agent drafted and a person has approved."""
        return self.put(Letter("message", title, alert=False, job_id=job_id, body=body), to, manner)

    # ── sending ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def take_due(self, owner: Owner, limit: int, lately: Sequence[str] = ()) -> list[Parcel]:
        """pending → sending of what is due, one message for each address: `owner` sends them now.

        `lately` are addresses that had their turn, the last one last: they come after those that had none.
        """
        taken: list[Parcel] = []
        due = self._db.execute(DUE, (self._us,)).fetchall() if limit > 0 else []
        turn = {address: number for number, address in enumerate(lately)}
        for row in sorted(due, key=lambda row: (turn.get(row["address"], -1), row["due_at"], row["address"])):
            if len(taken) == limit:
                break
            if not self._db.reserve(f"send {row['address']}") or self._busy(row["address"]):
                continue  # another gateway sends there
            parcel = self._first(owner, row["address"])
            if parcel is not None:
                taken.append(parcel)
        return taken

    def _first(self, owner: Owner, address: str) -> Parcel | None:
        """The first message there that can be sent at all; those before it are ended on the way."""
        for _ in range(ENDED_AT_ONCE):
            row = self._db.execute(FIRST, (address, self._us)).fetchone()
            parcel = None if row is None else self._take(owner, row["id"])
            if parcel is not None or row is None:
                return parcel
        self._more = True
        return None

    def take_next(self, owner: Owner, address: str) -> Parcel | None:
        """The same of one address, whose last message has just been recorded by `owner`."""
        if not self._db.reserve(f"send {address}") or self._busy(address):
            return None
        return self._first(owner, address)

    def _busy(self, address: str) -> bool:
        sql = "SELECT 1 FROM delivery WHERE address = ? AND state = 'sending'"
        return self._db.shared and self._db.execute(sql, (address,)).fetchone() is not None

    def _take(self, owner: Owner, first: int) -> Parcel | None:
        (token,) = self._db.next_tokens(1)
        ids, address = self._together(first)
        items: list[Item] = []
        attempts, deadline = 0, self.now
        for delivery_id in ids:
            row = self._db.execute(ITEM, (delivery_id,)).fetchone()
            shut = self._why_never(row)
            if shut is not None:
                self._end(row, *(("lose", f"{CRASHED}; {shut[1]}") if row["doubt"] else shut))
                continue
            met = self._db.execute(
                "UPDATE delivery SET state = 'sending', token = ?, gateway_id = ?, attempts = attempts + 1, batch = ?,"
                " changed_at = ? WHERE id = ? AND state = 'pending'",
                (token, owner.id, ids[0] if len(ids) > 1 or row["digest"] else None, self._us, delivery_id),
            )
            if met.rowcount == 1:
                items.append(_item(row))
                attempts, deadline = max(attempts, row["attempts"] + 1), max(deadline, from_us(row["expires_at"]))
        return Parcel(address, token, attempts, deadline, tuple(items)) if items else None

    def _together(self, first: int) -> tuple[list[int], str]:
        """Whatever goes out in one message with it: what did before, or all of the digest that has come due; and where."""
        row = self._db.execute("SELECT address, digest, batch FROM delivery WHERE id = ?", (first,)).fetchone()
        if row["batch"] is not None:
            sql, args = "AND batch = ?", (row["batch"],)
        elif row["digest"]:
            sql, args = "AND digest = 1 AND batch IS NULL", ()
        else:
            return [first], row["address"]
        found = self._db.execute(
            f"SELECT id FROM delivery WHERE state = 'pending' AND address = ? AND due_at <= ? {sql}"
            " ORDER BY due_at, id LIMIT ?",
            (row["address"], self._us, *args, DIGEST_MAX),
        ).fetchall()
        return [each["id"] for each in found], row["address"]

    def _why_never(self, row: Any) -> tuple[str, str] | None:
        """Why what is due cannot be sent at all: the event, and the reason."""
        shut = self._db.execute("SELECT reason FROM closed_address WHERE address = ?", (row["address"],)).fetchone()
        if shut is not None:
            return "refuse", f"nothing is sent there any more: {shut['reason']}"
        if row["says"] is None or (row["body"] is None and not row["says"]):
            return "expire", GONE
        if row["expires_at"] < self._us and row["attempts"] > 0:
            return "expire", f"given up after {_times(row['attempts'])}: {row['reason']}"
        return None

    def record(self, parcel: Parcel, receipt: Receipt) -> str:
        """sending → what the sender knows, of all that went in it; the state. Raises Stale when another has taken it over."""
        event, due, reason = receipt.event, self._us, receipt.reason
        if event == "retry":
            after = next_try(
                self.now, parcel.deadline, parcel.attempts, receipt.after_s, str(parcel.items[0].delivery_id)
            )
            if after is None:
                event, reason = "expire", f"given up after {_times(parcel.attempts)}: {reason}"
            else:
                due = to_us(after)
        if event in ("refuse", "expire") and self._in_doubt(parcel):
            event, reason = "lose", f"{CRASHED}; then: {reason}"
        state, allowed = target(DELIVERY, event), sources(DELIVERY, "accept")
        for item in parcel.items:
            done = self._db.execute(
                "UPDATE delivery SET state = ?, evidence = ?, reason = ?, due_at = ?, changed_at = ?"
                f" WHERE id = ? AND token = ? AND state IN ({', '.join('?' * len(allowed))})",
                (state, receipt.evidence, reason, due, self._us, item.delivery_id, parcel.token, *allowed),
            )
            if done.rowcount != 1:
                raise Stale(f"delivery {item.delivery_id} was moved on by another owner", run=item.run_id)
            what = "delivery_retried" if event == "retry" else state
            self._tell(what, item.job_id, item.key, item.run_id, item.target, receipt.evidence, reason)
        if event == "retry" and receipt.after_s is not None:  # it has asked for patience: the others wait too
            wait = "UPDATE delivery SET due_at = ? WHERE address = ? AND state = 'pending' AND due_at < ?"
            self._db.execute(wait, (due, parcel.address, due))
        if receipt.closes:
            self._close(parcel.address, reason or "it said so")
        return state

    def _in_doubt(self, parcel: Parcel) -> bool:
        """Whether an earlier try may have arrived: then it is not known that it has not."""
        sql = "SELECT 1 FROM delivery WHERE id = ? AND doubt = 1"
        return any(self._db.execute(sql, (item.delivery_id,)).fetchone() for item in parcel.items)

    def recall(self, former: str, repeatable: Callable[[str], bool]) -> None:
        """What a gateway that is gone was sending may have arrived: it is not sent again, unless that does no harm."""
        for delivery_id in sorted(row[0] for row in self._db.execute(SENDING, (former,)).fetchall()):
            row = self._db.execute(ITEM, (delivery_id,)).fetchone()
            if repeatable(row["address"]):
                back = "UPDATE delivery SET state = ?, token = NULL, doubt = 1, changed_at = ? WHERE id = ?"
                self._db.execute(f"{back} AND state = 'sending'", (target(DELIVERY, "retry"), self._us, delivery_id))
            else:
                self._end(row, "lose", CRASHED)

    def _end(self, row: Any, event: str, reason: str) -> None:
        state, allowed = target(DELIVERY, event), sources(DELIVERY, event)
        met = self._db.execute(
            "UPDATE delivery SET state = ?, reason = ?, token = NULL, changed_at = ?"
            f" WHERE id = ? AND state IN ({', '.join('?' * len(allowed))})",
            (state, reason, self._us, row["id"], *allowed),
        )
        if met.rowcount == 1:
            self.ended = True
            self._tell(state, row["job_id"], row["key"], row["run_id"], row["target"], None, reason)

    def next_due(self) -> datetime | None:
        """When the next message is to be sent; one whose address is busy follows at once."""
        if self._more:
            return self.now
        row = self._db.execute("SELECT min(due_at) FROM delivery WHERE state = 'pending' AND due_at > ?", (self._us,))
        found = row.fetchone()[0]
        return None if found is None else from_us(found)

    # ── people ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def resend(self, run_id: str, address: str | None, manner: Manner, *, actor: str) -> list[str]:
        """Have what reached nobody, or may not have, sent anew, at once. Returns the targets.

        Raises Refused where it has arrived, or where nothing was sent and why.
        """
        rows = self._db.execute(
            "SELECT d.* FROM delivery d WHERE d.run_id = ? AND NOT EXISTS (SELECT 1 FROM delivery n WHERE"
            " n.run_id = d.run_id AND n.kind = d.kind AND n.address = d.address AND n.round > d.round) ORDER BY d.id",
            (run_id,),
        ).fetchall()
        asked = [row for row in rows if address is None or address in (row["address"], row["target"])]
        lost = [row for row in asked if row["state"] in ("failed", "unknown", "expired")]
        if address is not None and self._says(run_id):
            lost += [row for row in asked if row["state"] == "suppressed"]
        if not lost:
            raise _nothing_to_resend(run_id, asked)
        until = to_us(self.now + timedelta(seconds=manner.give_up_s))
        for row in lost:
            again = {
                **{name: row[name] for name in COLUMNS},
                "round": row["round"] + 1,
                "state": "pending",
                "digest": 0,
            }
            again |= {"due_at": self._us, "expires_at": until, "created_at": self._us, "changed_at": self._us}
            again |= {"evidence": None, "reason": f"sent anew by {actor}"}
            try:
                self._db.execute(PLAN, tuple(again[name] for name in COLUMNS))
            except self._db.clash:
                raise Conflict(
                    f"{row['target']} is being sent anew already", "`horae runs` shows how it went"
                ) from None
            key = self._db.execute("SELECT key FROM run WHERE id = ?", (run_id,)).fetchone()[0]
            self._journal.append(
                "resent",
                actor=actor,
                job_id=row["job_id"],
                key=key,
                run_id=run_id,
                target=row["target"],
                was=row["state"],
            )
        self._db.notify()
        return [row["target"] for row in lost]

    def _says(self, run_id: str) -> bool:
        row = self._db.execute("SELECT message FROM output WHERE run_id = ?", (run_id,)).fetchone()
        return row is not None and bool(row["message"])

    def closed(self) -> dict[str, str]:
        """Addresses where nothing is sent any more, since they said so, and why."""
        rows = self._db.execute("SELECT address, reason FROM closed_address").fetchall()
        return {row["address"]: row["reason"] for row in rows}

    def reopen(self, address: str, *, actor: str) -> bool:
        """A person says that messages may be sent there again. False when it was not closed."""
        met = self._db.execute("DELETE FROM closed_address WHERE address = ?", (address,)).rowcount
        if met:
            self._journal.append("target_opened", actor=actor, target=address)
            self._db.notify()
        return met == 1

    def _close(self, address: str, reason: str) -> None:
        met = self._db.execute(
            "INSERT INTO closed_address (address, reason, closed_at) VALUES (?, ?, ?) ON CONFLICT (address) DO NOTHING",
            (address, reason, self._us),
        )
        if met.rowcount == 1:
            self._journal.append("target_closed", actor="gateway", target=address, reason=reason)

    def _tell(
        self,
        what: str,
        job_id: str | None,
        key: str | None,
        run_id: str | None,
        name: str,
        evidence: str | None,
        reason: str | None,
    ) -> None:
        told = {"target": name, "evidence": evidence, "reason": reason}
        self._journal.append(what, actor="gateway", job_id=job_id, key=key, run_id=run_id, **told)


def _item(row: Any) -> Item:
    slot = None
    if row["slot_at"] is not None:
        slot = from_us(row["slot_at"]).astimezone(timezone(timedelta(seconds=row["offset_s"])))
    return Item(
        delivery_id=row["id"],
        kind=row["kind"],
        title=row["title"],
        body=row["says"],
        format=row["format"],
        alert=bool(row["alert"]),
        target=row["target"],
        run_id=row["run_id"],
        job_id=row["job_id"],
        slug=row["slug"],
        key=row["key"],
        slot=slot,
        state=row["ended"],
        attachments=tuple(json.loads(row["attachments"])) if row["attachments"] and row["body"] is None else (),
        incident_id=row["incident_id"],
    )


def _nothing_to_resend(run_id: str, asked: Sequence[Any]) -> Refused:
    if not asked:
        return Refused(f"run {run_id} has no such delivery", f"`horae log {run_id}` shows those that it has")
    row = asked[0]
    if row["state"] == "delivered":
        says = f"{row['target']} has it already: {row['evidence'] or 'it was delivered'}"
        return Refused(says, "what has arrived is never sent again", state="delivered")
    if row["state"] in ("pending", "sending"):
        return Refused(f"{row['target']} is {row['state']}: it is being seen to", "`horae runs` shows how it went")
    return Refused(
        f"nothing was to be sent to {row['target']}: {row['reason']}",
        f"name it to have it sent all the same: `horae resend {run_id} {row['target']}`",
        state=row["state"],
    )


def _times(count: int) -> str:
    return "1 try" if count == 1 else f"{count} tries"
