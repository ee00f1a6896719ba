-- Agents: what their runs used and left behind, what budgets count, what waits for a person, and what starts after what.

ALTER TABLE job ADD COLUMN model TEXT;       -- of a job without a pin: what it was frozen at
ALTER TABLE job ADD COLUMN after_ref TEXT;   -- the job, as its file names it, whose success starts this one
CREATE INDEX job_after ON job (after_ref) WHERE after_ref IS NOT NULL;
UPDATE job SET signature = '' WHERE definition <> '' AND definition NOT LIKE '%"agent": false%'
  AND signature NOT IN ('parked', 'gone');   -- files of agents are read again: that freezes their models

ALTER TABLE run ADD COLUMN model TEXT;
ALTER TABLE run ADD COLUMN prompt_sha256 TEXT;
ALTER TABLE run ADD COLUMN turns INTEGER;              -- model calls
ALTER TABLE run ADD COLUMN tokens_in INTEGER;
ALTER TABLE run ADD COLUMN tokens_out INTEGER;
ALTER TABLE run ADD COLUMN equipped_at INTEGER;        -- of an agent's: when it was given what it may use
ALTER TABLE run ADD COLUMN reserved_tokens INTEGER;    -- what it counts for in its budgets: what was reserved for it, and
ALTER TABLE run ADD COLUMN reserved_usd REAL;          -- once it has ended and that is known what it used
ALTER TABLE run ADD COLUMN held INTEGER NOT NULL DEFAULT 0; -- how often the provider of its slot could not answer
CREATE INDEX run_spending ON run (finished_at) WHERE equipped_at IS NOT NULL;
CREATE INDEX run_spending_of_job ON run (job_id, finished_at) WHERE equipped_at IS NOT NULL;

ALTER TABLE occurrence ADD COLUMN replay_of TEXT;      -- the run whose prompt its run is given
ALTER TABLE occurrence ADD COLUMN model TEXT;          -- of a replay: with which model, if not the job's
ALTER TABLE occurrence ADD COLUMN cause TEXT;          -- what brought it about, in words, where that was no person
ALTER TABLE occurrence ADD COLUMN caused_by TEXT;      -- the run after whose success it was ordered
ALTER TABLE occurrence ADD COLUMN later TEXT;          -- that it was begun and goes on later, in words

CREATE TABLE activity (                       -- what an agent did, one event a row
  run_id TEXT NOT NULL REFERENCES run (id),
  number INTEGER NOT NULL,
  at     INTEGER NOT NULL,
  kind   TEXT NOT NULL,
  detail TEXT NOT NULL,                       -- JSON
  PRIMARY KEY (run_id, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE agent_prompt (                   -- exactly what an agent was sent first
  run_id TEXT PRIMARY KEY REFERENCES run (id),
  text   TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE notepad (
  job_id     TEXT NOT NULL REFERENCES job (id),
  key        TEXT NOT NULL,
  value      TEXT NOT NULL,
  run_id     TEXT NOT NULL,
  changed_at INTEGER NOT NULL,
  PRIMARY KEY (job_id, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE watched (                        -- what the source of a job said when it was looked at last and all went well
  job_id     TEXT PRIMARY KEY REFERENCES job (id),
  sha256     TEXT NOT NULL,
  text       TEXT NOT NULL,
  run_id     TEXT NOT NULL,
  changed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE resume (                         -- from where a slot goes on that was begun
  key    TEXT PRIMARY KEY REFERENCES occurrence (key),
  run_id TEXT NOT NULL,
  state  TEXT,
  ask_id TEXT,                                -- what it waits for a person's word on
  at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE ask (                            -- what waits, or has waited, for a person's word
  id         TEXT PRIMARY KEY,
  kind       TEXT NOT NULL CHECK (kind IN ('call', 'job', 'message')),
  job_id     TEXT NOT NULL REFERENCES job (id),
  run_id     TEXT NOT NULL,
  key        TEXT NOT NULL,
  body       TEXT NOT NULL,                   -- JSON
  asked_at   INTEGER NOT NULL,
  expires_at INTEGER,
  decided_at INTEGER,
  decision   TEXT CHECK (decision IN ('approved', 'denied', 'expired')),
  decided_by TEXT,
  reason     TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX ask_open ON ask (asked_at) WHERE decided_at IS NULL;
CREATE INDEX ask_decided ON ask (decided_at) WHERE decided_at IS NOT NULL;
CREATE INDEX ask_run ON ask (run_id);

CREATE TABLE budget (                         -- held by whoever reserves, until its commit
  id INTEGER PRIMARY KEY CHECK (id = 1),
  at INTEGER NOT NULL
) STRICT;
