-- Deliveries with a life of their own, incidents, and what is expected of jobs.

DROP TRIGGER delivery_terminal;
ALTER TABLE delivery RENAME TO delivery_before;
DROP INDEX delivery_lost;
DROP INDEX delivery_open;

CREATE TABLE delivery (
  id          INTEGER PRIMARY KEY,
  run_id      TEXT REFERENCES run (id),       -- NULL for what is told of an incident without a run
  job_id      TEXT,
  incident_id TEXT,
  kind        TEXT NOT NULL DEFAULT 'result',
  target      TEXT NOT NULL,                  -- as people read it
  address     TEXT NOT NULL,                  -- what it resolves to
  round       INTEGER NOT NULL DEFAULT 0,     -- how often a person has had it sent anew
  state       TEXT NOT NULL DEFAULT 'pending' CHECK (state IN
    ('pending', 'sending', 'delivered', 'failed', 'unknown', 'suppressed', 'expired')),
  title       TEXT NOT NULL,
  body        TEXT,                           -- NULL: the message of its run
  format      TEXT NOT NULL DEFAULT 'text',
  alert       INTEGER NOT NULL,
  digest      INTEGER NOT NULL DEFAULT 0,     -- 1: goes out together with others that are due at the same address
  batch       INTEGER,                        -- the first delivery of the message that it went out in
  due_at      INTEGER NOT NULL,
  expires_at  INTEGER NOT NULL,
  token       INTEGER,                        -- of whoever sends it
  gateway_id  TEXT,
  attempts    INTEGER NOT NULL DEFAULT 0,
  doubt       INTEGER NOT NULL DEFAULT 0,     -- 1: an earlier try may have arrived
  reason      TEXT,
  evidence    TEXT,
  created_at  INTEGER NOT NULL,
  changed_at  INTEGER NOT NULL,
  followed_at INTEGER,                        -- that it reached nobody has had its consequences
  seen_at     INTEGER                         -- a person has seen that it reached nobody
) STRICT;
INSERT INTO delivery (id, run_id, job_id, target, address, state, title, alert, due_at, expires_at, attempts, reason,
  evidence, created_at, changed_at, followed_at)
SELECT d.id, d.run_id, (SELECT r.job_id FROM run r WHERE r.id = d.run_id), d.target, d.target,
  CASE d.state WHEN 'sending' THEN 'unknown' ELSE d.state END, d.title, d.alert, d.created_at,
  d.created_at + 2592000000000, d.attempts,
  CASE d.state WHEN 'sending' THEN 'the gateway ended while it was being sent' ELSE d.reason END,
  d.evidence, d.created_at, d.changed_at, d.changed_at FROM delivery_before d;
DROP TABLE delivery_before;
CREATE UNIQUE INDEX delivery_once ON delivery (run_id, kind, address, round) WHERE run_id IS NOT NULL;
CREATE INDEX delivery_due ON delivery (due_at) WHERE state = 'pending';
CREATE INDEX delivery_waiting ON delivery (address, due_at, id) WHERE state = 'pending';
CREATE INDEX delivery_sending ON delivery (gateway_id, address) WHERE state = 'sending';
CREATE INDEX delivery_lost ON delivery (id) WHERE state IN ('failed', 'unknown', 'expired') AND seen_at IS NULL;
CREATE INDEX delivery_incident ON delivery (incident_id) WHERE incident_id IS NOT NULL;
CREATE INDEX delivery_on_its_way ON delivery (incident_id) WHERE state IN ('pending', 'sending');
CREATE INDEX delivery_unfollowed ON delivery (id) WHERE state IN ('failed', 'unknown', 'expired') AND followed_at IS NULL;
CREATE INDEX delivery_unsaid ON delivery (run_id) WHERE state = 'suppressed' AND reason = 'it is tried again'
  AND followed_at IS NULL;
CREATE INDEX delivery_apart ON delivery (changed_at) WHERE run_id IS NULL;

CREATE TRIGGER delivery_terminal BEFORE UPDATE OF state ON delivery
WHEN OLD.state IN ('delivered', 'failed', 'unknown', 'suppressed', 'expired')
BEGIN SELECT RAISE(ABORT, 'a finished delivery is immutable'); END;

CREATE TABLE closed_address (                 -- where nothing may be sent any more, as it said itself
  address   TEXT PRIMARY KEY,
  reason    TEXT NOT NULL,
  closed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE incident (
  id            TEXT PRIMARY KEY,
  job_id        TEXT NOT NULL REFERENCES job (id),
  kind          TEXT NOT NULL CHECK (kind IN ('failed', 'blocked', 'unknown', 'overdue', 'quiet', 'undelivered')),
  cause         TEXT NOT NULL,
  says          TEXT NOT NULL,                -- the words of the last one; the cause is without what differs
  opened_at     INTEGER NOT NULL,
  last_at       INTEGER NOT NULL,
  count         INTEGER NOT NULL DEFAULT 1,
  run_id        TEXT,                         -- the last one that was part of it
  told_at       INTEGER,                      -- when somebody was first told, for certain
  remind_at     INTEGER,
  reminders     INTEGER NOT NULL DEFAULT 0,
  acked_at      INTEGER,
  acked_by      TEXT,
  snoozed_until INTEGER,
  ended_at      INTEGER,
  ended_by      TEXT
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX incident_open ON incident (job_id, kind, cause) WHERE ended_at IS NULL;
CREATE INDEX incident_undelivered ON incident (cause) WHERE kind = 'undelivered' AND ended_at IS NULL;
CREATE INDEX incident_remind ON incident (remind_at) WHERE remind_at IS NOT NULL AND ended_at IS NULL;
CREATE INDEX incident_ended ON incident (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE expectation (                    -- when to look whether a job has done what is expected of it
  job_id TEXT NOT NULL REFERENCES job (id),
  kind   TEXT NOT NULL CHECK (kind IN ('by', 'every')),
  since_at INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  PRIMARY KEY (job_id, kind)
) STRICT, WITHOUT ROWID;
CREATE INDEX expectation_due ON expectation (due_at);

ALTER TABLE job ADD COLUMN failing INTEGER NOT NULL DEFAULT 0; -- failures in a row
ALTER TABLE job ADD COLUMN silent INTEGER NOT NULL DEFAULT 0;  -- runs in a row that completed and said nothing
