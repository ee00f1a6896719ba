-- Leases of gateways, what a job says about lateness, overlap and place, resolutions, and a journal that is chained.

ALTER TABLE gateway ADD COLUMN lease_until INTEGER NOT NULL DEFAULT 0; -- until then it counts as alive, whatever is seen
ALTER TABLE gateway ADD COLUMN lost_at INTEGER;                        -- when another one took its runs over
ALTER TABLE gateway ADD COLUMN labels TEXT NOT NULL DEFAULT '';        -- sorted, a space between
ALTER TABLE gateway ADD COLUMN draining INTEGER NOT NULL DEFAULT 0;
CREATE INDEX gateway_alive ON gateway (lease_until) WHERE stopped_at IS NULL AND lost_at IS NULL;

-- What the engine filters and orders by stands in columns; the rest of a policy is read from the definition.
ALTER TABLE job ADD COLUMN starts_at INTEGER;                  -- slots before it, and after `ends_at`, are none
ALTER TABLE job ADD COLUMN ends_at INTEGER;
ALTER TABLE job ADD COLUMN spread_s INTEGER NOT NULL DEFAULT 0; -- a slot is due by a stable part of this later
ALTER TABLE job ADD COLUMN runs_on TEXT;                       -- labels that a gateway must have, sorted, a space between
ALTER TABLE job ADD COLUMN concurrency_group TEXT;
ALTER TABLE job ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
CREATE INDEX job_runs_on ON job (runs_on) WHERE runs_on IS NOT NULL;
CREATE INDEX job_completed ON job (completed_at) WHERE completed_at IS NOT NULL AND removed_at IS NULL;

ALTER TABLE occurrence ADD COLUMN priority INTEGER NOT NULL DEFAULT 0; -- of its job, so that what is due can be ordered
ALTER TABLE occurrence ADD COLUMN waits_for TEXT; -- of a row that is due and waits: 'run' of its job, or 'group ' and the name
CREATE INDEX occurrence_ready ON occurrence (priority, due_at) WHERE state = 'planned' AND waits_for IS NULL;
CREATE INDEX occurrence_waiting ON occurrence (waits_for, priority, due_at) WHERE state = 'planned' AND waits_for IS NOT NULL;

ALTER TABLE run ADD COLUMN cancel_reason TEXT;                 -- somebody asked for its end; its owner sees to it
ALTER TABLE run ADD COLUMN resolved_by TEXT;                   -- who said how an unknown run had ended
ALTER TABLE run ADD COLUMN resolved_at INTEGER;
CREATE INDEX run_cancel ON run (gateway_id) WHERE cancel_reason IS NOT NULL AND state IN ('claimed', 'running');
ALTER TABLE run ADD COLUMN pruned INTEGER NOT NULL DEFAULT 0;  -- 1: the text of its output is gone; 2: so are its deliveries
CREATE INDEX run_finished ON run (pruned, finished_at) WHERE finished_at IS NOT NULL;
ALTER TABLE output ADD COLUMN pruned_at INTEGER;               -- when its text was pruned

DROP TRIGGER run_terminal;
CREATE TRIGGER run_terminal BEFORE UPDATE OF state ON run
WHEN OLD.state IN ('completed', 'failed', 'cancelled', 'blocked', 'released')
  OR (OLD.state = 'unknown' AND NEW.state NOT IN ('completed', 'failed'))
BEGIN SELECT RAISE(ABORT, 'a finished run is immutable'); END;

-- The journal: each entry carries the hash of the one before it in its chain.
ALTER TABLE journal ADD COLUMN chain TEXT NOT NULL DEFAULT '';  -- '' for what was written before there were chains
ALTER TABLE journal ADD COLUMN number INTEGER NOT NULL DEFAULT 0;
ALTER TABLE journal ADD COLUMN hash TEXT;
ALTER TABLE journal ADD COLUMN undoable INTEGER NOT NULL DEFAULT 0; -- whether `detail` says how to take it back
ALTER TABLE journal ADD COLUMN undoes INTEGER;                      -- the entry that this one took back ...
ALTER TABLE journal ADD COLUMN redo INTEGER NOT NULL DEFAULT 0;     -- ... or 1 when an undo wrote it
ALTER TABLE journal ADD COLUMN was_key TEXT;                        -- the key that a slot had before zone data changed
UPDATE journal SET undoable = 1 WHERE json_extract(detail, '$.undo') IS NOT NULL;
UPDATE journal SET undoes = json_extract(detail, '$.entry'), redo = json_extract(detail, '$.redo') IS NOT NULL WHERE what = 'undone';
UPDATE journal SET was_key = json_extract(detail, '$.was_key') WHERE what = 'zone_data';
DROP INDEX journal_undone;
CREATE INDEX journal_undone ON journal (undoes) WHERE undoes IS NOT NULL;
CREATE INDEX journal_was ON journal (job_id, was_key) WHERE was_key IS NOT NULL;
CREATE UNIQUE INDEX journal_chain_number ON journal (chain, number) WHERE number > 0;
DROP INDEX journal_job;
CREATE INDEX journal_job ON journal (job_id, seq) WHERE job_id IS NOT NULL AND key IS NULL; -- about the job itself
CREATE INDEX journal_at ON journal (at);

CREATE TABLE journal_chain (
  chain  TEXT PRIMARY KEY,
  number INTEGER NOT NULL,                    -- of its last entry
  hash   TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE journal_marker (
  chain     TEXT NOT NULL,
  number    INTEGER NOT NULL,                 -- entries up to this one were pruned
  hash      TEXT NOT NULL,                    -- of that entry: the next one follows it
  count     INTEGER NOT NULL,
  at        INTEGER NOT NULL,
  signer    TEXT NOT NULL,                    -- the public key of whoever pruned them
  signature TEXT NOT NULL,
  PRIMARY KEY (chain, number)
) STRICT, WITHOUT ROWID;

-- Definitions and scripts of a cluster: the files of a home, in a table.
CREATE TABLE document (
  kind       TEXT NOT NULL CHECK (kind IN ('job', 'script')),
  name       TEXT NOT NULL,
  digest     TEXT NOT NULL,
  text       TEXT NOT NULL,
  mode       INTEGER NOT NULL DEFAULT 420,
  changed_at INTEGER NOT NULL,
  changed_by TEXT NOT NULL,
  PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;
