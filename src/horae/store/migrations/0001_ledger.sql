-- Jobs, occurrences, runs, deliveries, journal.
--
-- Instants are microseconds since 1970 in UTC; slots are whole seconds. Lists of states come from core/states.py
-- (`make generate` prints them, a test compares). Instants of people are shown with `offset_s`, the job's offset from
-- UTC at that slot, so that nobody has to load zone data to print a list.

CREATE TABLE fence (
  id    INTEGER PRIMARY KEY CHECK (id = 1),
  token INTEGER NOT NULL                     -- the last fencing number that was given out; it only rises
) STRICT;

CREATE TABLE gateway (
  id          TEXT PRIMARY KEY,
  host        TEXT NOT NULL,
  boot        TEXT NOT NULL,
  pid         INTEGER NOT NULL,
  pid_started INTEGER NOT NULL,
  version     TEXT NOT NULL,
  since_at    INTEGER NOT NULL,
  stopped_at  INTEGER
) STRICT;

CREATE TABLE job (
  id               TEXT PRIMARY KEY,
  slug             TEXT NOT NULL,
  name             TEXT NOT NULL,
  schedule         TEXT NOT NULL,
  timezone         TEXT NOT NULL,
  meaning          TEXT NOT NULL,
  definition       TEXT NOT NULL,            -- the last valid one, as JSON; '' when there never was one
  cadence          TEXT NOT NULL,            -- digest of what decides about slots
  digest           TEXT NOT NULL,            -- digest of the whole definition
  signature        TEXT NOT NULL,            -- of the file it was read from
  anchor_at        INTEGER NOT NULL,         -- what un-anchored intervals count from
  cursor_at        INTEGER,                  -- the latest slot that was planned in order
  enabled          INTEGER NOT NULL DEFAULT 1,
  repeat_max       INTEGER,
  counted          INTEGER NOT NULL DEFAULT 0, -- scheduled runs so far, against repeat_max
  ending           TEXT,                     -- why no further slot will be planned
  problem          TEXT,                     -- what is wrong with its file, as JSON
  paused_at        INTEGER,
  paused_by        TEXT,
  paused_reason    TEXT,
  completed_at     INTEGER,
  completed_reason TEXT,
  removed_at       INTEGER,
  created_at       INTEGER NOT NULL,
  changed_at       INTEGER NOT NULL,
  state            TEXT NOT NULL GENERATED ALWAYS AS (
    CASE WHEN problem IS NOT NULL THEN 'quarantined'
         WHEN completed_at IS NOT NULL THEN 'completed'
         WHEN paused_at IS NOT NULL OR enabled = 0 THEN 'paused'
         ELSE 'active' END) VIRTUAL
) STRICT;
CREATE UNIQUE INDEX job_slug ON job (slug) WHERE removed_at IS NULL;
CREATE INDEX job_parked ON job (id) WHERE signature = 'parked';
CREATE INDEX job_problem ON job (slug) WHERE problem IS NOT NULL;
CREATE INDEX job_name ON job (name) WHERE removed_at IS NULL;

CREATE TABLE occurrence (
  key        TEXT PRIMARY KEY,
  job_id     TEXT NOT NULL REFERENCES job (id),
  trigger    TEXT NOT NULL CHECK (trigger IN ('schedule', 'manual')),
  slot_at    INTEGER NOT NULL,               -- never changes
  due_at     INTEGER NOT NULL,               -- slot_at unless moved
  offset_s   INTEGER NOT NULL,
  state      TEXT NOT NULL DEFAULT 'planned' CHECK (state IN ('planned', 'claimed', 'settled')),
  outcome    TEXT CHECK (outcome IN ('ran', 'skipped', 'missed', 'blocked', 'void')),
  reason     TEXT,
  exception  TEXT CHECK (exception IN ('skip', 'move')),
  attempts   INTEGER NOT NULL DEFAULT 0,
  missed     INTEGER NOT NULL DEFAULT 0,     -- earlier slots that its run makes up for
  run_id     TEXT,                           -- promised to the person who ordered a manual run
  input      TEXT,
  span_to    INTEGER,                        -- a span row stands for span_count slots, slot_at to span_to
  span_count INTEGER,
  planned_at INTEGER NOT NULL,
  settled_at INTEGER,
  CHECK ((state = 'settled') = (outcome IS NOT NULL)),
  CHECK ((span_to IS NULL) = (span_count IS NULL))
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX occurrence_slot ON occurrence (job_id, slot_at, coalesce(run_id, '')); -- a scheduled slot has no run_id
CREATE INDEX occurrence_due ON occurrence (due_at) WHERE state = 'planned';
CREATE INDEX occurrence_open ON occurrence (job_id, due_at) WHERE state = 'planned';
CREATE INDEX occurrence_live ON occurrence (job_id) WHERE state = 'claimed';

CREATE TRIGGER occurrence_settled BEFORE UPDATE ON occurrence WHEN OLD.state IN ('settled')
BEGIN SELECT RAISE(ABORT, 'a settled occurrence is immutable'); END;

CREATE TABLE run (
  id          TEXT PRIMARY KEY,
  key         TEXT NOT NULL REFERENCES occurrence (key),
  job_id      TEXT NOT NULL REFERENCES job (id),
  attempt     INTEGER NOT NULL,
  token       INTEGER NOT NULL,
  gateway_id  TEXT NOT NULL REFERENCES gateway (id),
  state       TEXT NOT NULL CHECK (state IN
    ('claimed', 'running', 'completed', 'failed', 'cancelled', 'unknown', 'blocked', 'released')),
  reason      TEXT,
  claimed_at  INTEGER NOT NULL,
  started_at  INTEGER,
  finished_at INTEGER,
  pid         INTEGER,
  pid_started INTEGER,
  exit_code   INTEGER,
  signal      INTEGER,
  tokens      INTEGER,
  cost_usd    REAL,
  UNIQUE (key, attempt)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_job ON run (job_id, claimed_at);
CREATE INDEX run_recent ON run (claimed_at);
CREATE INDEX run_failed ON run (claimed_at, job_id) WHERE state IN ('failed', 'blocked');
CREATE INDEX run_unknown ON run (claimed_at) WHERE state = 'unknown';
CREATE INDEX run_live ON run (gateway_id) WHERE state IN ('claimed', 'running');

CREATE TRIGGER run_terminal BEFORE UPDATE OF state ON run
WHEN OLD.state IN ('completed', 'failed', 'cancelled', 'unknown', 'blocked', 'released')
BEGIN SELECT RAISE(ABORT, 'a finished run is immutable'); END;

CREATE TABLE output (
  run_id     TEXT PRIMARY KEY REFERENCES run (id),
  message    TEXT NOT NULL,
  stdout     TEXT NOT NULL,
  stderr     TEXT NOT NULL,
  stdout_cut INTEGER NOT NULL,
  stderr_cut INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE delivery (
  id         INTEGER PRIMARY KEY,
  run_id     TEXT NOT NULL REFERENCES run (id),
  target     TEXT NOT NULL,
  state      TEXT NOT NULL DEFAULT 'pending' CHECK (state IN
    ('pending', 'sending', 'delivered', 'failed', 'unknown', 'suppressed', 'expired')),
  title      TEXT NOT NULL,
  alert      INTEGER NOT NULL,
  attempts   INTEGER NOT NULL DEFAULT 0,
  reason     TEXT,
  evidence   TEXT,
  created_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  UNIQUE (run_id, target)
) STRICT;
CREATE INDEX delivery_lost ON delivery (id) WHERE state IN ('failed', 'unknown');
CREATE INDEX delivery_open ON delivery (run_id) WHERE state IN ('pending', 'sending');

CREATE TRIGGER delivery_terminal BEFORE UPDATE OF state ON delivery
WHEN OLD.state IN ('delivered', 'failed', 'unknown', 'suppressed', 'expired')
BEGIN SELECT RAISE(ABORT, 'a finished delivery is immutable'); END;

CREATE TABLE journal (
  seq    INTEGER PRIMARY KEY,
  at     INTEGER NOT NULL,
  actor  TEXT NOT NULL,
  what   TEXT NOT NULL,
  job_id TEXT,
  key    TEXT,
  run_id TEXT,
  detail TEXT NOT NULL
) STRICT;
CREATE INDEX journal_job ON journal (job_id, seq) WHERE job_id IS NOT NULL;
CREATE INDEX journal_key ON journal (key, seq) WHERE key IS NOT NULL;
CREATE INDEX journal_people ON journal (seq) WHERE actor <> 'gateway';
CREATE INDEX journal_undone ON journal (json_extract(detail, '$.entry')) WHERE what = 'undone';
