-- The whole schema, as far as SQLite's has come: the same tables, columns, checks, guards and indexes (a test compares).
--
-- What differs, and why:
-- - text of ids, slugs, names and keys is ordered by its bytes (COLLATE "C"), as on SQLite: pages and prefixes rely on it;
-- - numbers that only rise come from sequences, so that writers do not queue for them; SQLite's `fence` is one of them;
-- - every integer is a BIGINT, as every integer of SQLite is; a REAL there is a DOUBLE PRECISION;
-- - references are checked from run to occurrence to job. What else names a row (a run its gateway and job, an output and
--   a delivery their run) is written in the transaction that has just found it there, and nothing deletes such a row; to
--   check them too took a fifth of the server's time, and locked the gateway's row for each of its runs;
-- - tables that are updated all the time are cleaned early, and those whose updates touch no index leave room for them.
-- Comments on columns are in SQLite's steps 0001 to 0005.

CREATE SEQUENCE fence_token; -- fencing numbers; they only rise
CREATE SEQUENCE journal_seq; -- numbers of the journal's entries; one of a transaction that failed is missing for ever

CREATE TABLE gateway (
  id          TEXT COLLATE "C" PRIMARY KEY,
  host        TEXT COLLATE "C" NOT NULL,
  boot        TEXT COLLATE "C" NOT NULL,
  pid         BIGINT NOT NULL,
  pid_started BIGINT NOT NULL,
  version     TEXT COLLATE "C" NOT NULL,
  since_at    BIGINT NOT NULL,
  stopped_at  BIGINT,
  lease_until BIGINT NOT NULL DEFAULT 0,
  lost_at     BIGINT,
  labels      TEXT COLLATE "C" NOT NULL DEFAULT '',
  draining    BIGINT NOT NULL DEFAULT 0
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 100);
CREATE INDEX gateway_alive ON gateway (lease_until) WHERE stopped_at IS NULL AND lost_at IS NULL;

CREATE TABLE job (
  id                TEXT COLLATE "C" PRIMARY KEY,
  slug              TEXT COLLATE "C" NOT NULL,
  name              TEXT COLLATE "C" NOT NULL,
  schedule          TEXT COLLATE "C" NOT NULL,
  timezone          TEXT COLLATE "C" NOT NULL,
  meaning           TEXT COLLATE "C" NOT NULL,
  definition        TEXT COLLATE "C" NOT NULL,
  cadence           TEXT COLLATE "C" NOT NULL,
  digest            TEXT COLLATE "C" NOT NULL,
  signature         TEXT COLLATE "C" NOT NULL,
  anchor_at         BIGINT NOT NULL,
  cursor_at         BIGINT,
  enabled           BIGINT NOT NULL DEFAULT 1,
  repeat_max        BIGINT,
  counted           BIGINT NOT NULL DEFAULT 0,
  ending            TEXT COLLATE "C",
  problem           TEXT COLLATE "C",
  paused_at         BIGINT,
  paused_by         TEXT COLLATE "C",
  paused_reason     TEXT COLLATE "C",
  completed_at      BIGINT,
  completed_reason  TEXT COLLATE "C",
  removed_at        BIGINT,
  created_at        BIGINT NOT NULL,
  changed_at        BIGINT NOT NULL,
  state             TEXT COLLATE "C" NOT NULL GENERATED ALWAYS AS (
    CASE WHEN problem IS NOT NULL THEN 'quarantined'
         WHEN completed_at IS NOT NULL THEN 'completed'
         WHEN paused_at IS NOT NULL OR enabled = 0 THEN 'paused'
         ELSE 'active' END) STORED,
  clock_gap         TEXT COLLATE "C" CHECK (clock_gap IN ('shift', 'after', 'skip')),
  clock_repeat      TEXT COLLATE "C" CHECK (clock_repeat IN ('first', 'both', 'last')),
  cadence_at        BIGINT NOT NULL DEFAULT 0,
  starts_at         BIGINT,
  ends_at           BIGINT,
  spread_s          BIGINT NOT NULL DEFAULT 0,
  runs_on           TEXT COLLATE "C",
  concurrency_group TEXT COLLATE "C",
  priority          BIGINT NOT NULL DEFAULT 0
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
CREATE UNIQUE INDEX job_slug ON job (slug) WHERE removed_at IS NULL;
CREATE INDEX job_parked ON job (id) WHERE signature = 'parked';
CREATE INDEX job_problem ON job (slug) WHERE problem IS NOT NULL;
CREATE INDEX job_name ON job (name) WHERE removed_at IS NULL;
CREATE INDEX job_runs_on ON job (runs_on) WHERE runs_on IS NOT NULL;
CREATE INDEX job_completed ON job (completed_at) WHERE completed_at IS NOT NULL AND removed_at IS NULL;

CREATE TABLE occurrence (
  key        TEXT COLLATE "C" PRIMARY KEY,
  job_id     TEXT COLLATE "C" NOT NULL REFERENCES job (id),
  trigger    TEXT COLLATE "C" NOT NULL CHECK (trigger IN ('schedule', 'manual')),
  slot_at    BIGINT NOT NULL,
  due_at     BIGINT NOT NULL,
  offset_s   BIGINT NOT NULL,
  state      TEXT COLLATE "C" NOT NULL DEFAULT 'planned' CHECK (state IN ('planned', 'claimed', 'settled')),
  outcome    TEXT COLLATE "C" CHECK (outcome IN ('ran', 'skipped', 'missed', 'blocked', 'void')),
  reason     TEXT COLLATE "C",
  exception  TEXT COLLATE "C" CHECK (exception IN ('skip', 'move')),
  attempts   BIGINT NOT NULL DEFAULT 0,
  missed     BIGINT NOT NULL DEFAULT 0,
  run_id     TEXT COLLATE "C",
  input      TEXT COLLATE "C",
  span_to    BIGINT,
  span_count BIGINT,
  planned_at BIGINT NOT NULL,
  settled_at BIGINT,
  priority   BIGINT NOT NULL DEFAULT 0,
  waits_for  TEXT COLLATE "C",
  CHECK ((state = 'settled') = (outcome IS NOT NULL)),
  CHECK ((span_to IS NULL) = (span_count IS NULL))
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
CREATE UNIQUE INDEX occurrence_slot ON occurrence (job_id, slot_at, coalesce(run_id, ''));
CREATE INDEX occurrence_due ON occurrence (due_at) WHERE state = 'planned';
CREATE INDEX occurrence_ready ON occurrence (priority, due_at, key) WHERE state = 'planned' AND waits_for IS NULL;
CREATE INDEX occurrence_waiting ON occurrence (waits_for, priority, due_at, key)
  WHERE state = 'planned' AND waits_for IS NOT NULL;
CREATE INDEX occurrence_open ON occurrence (job_id, due_at) WHERE state = 'planned';
CREATE INDEX occurrence_live ON occurrence (job_id) WHERE state = 'claimed';

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING MESSAGE = TG_ARGV[0], ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE TRIGGER occurrence_settled BEFORE UPDATE ON occurrence FOR EACH ROW WHEN (OLD.state IN ('settled'))
EXECUTE FUNCTION refuse_change('a settled occurrence is immutable');

CREATE TABLE run (
  id            TEXT COLLATE "C" PRIMARY KEY,
  key           TEXT COLLATE "C" NOT NULL REFERENCES occurrence (key),
  job_id        TEXT COLLATE "C" NOT NULL,
  attempt       BIGINT NOT NULL,
  token         BIGINT NOT NULL,
  gateway_id    TEXT COLLATE "C" NOT NULL,
  state         TEXT COLLATE "C" NOT NULL CHECK (state IN
    ('claimed', 'running', 'completed', 'failed', 'cancelled', 'unknown', 'blocked', 'released')),
  reason        TEXT COLLATE "C",
  claimed_at    BIGINT NOT NULL,
  started_at    BIGINT,
  finished_at   BIGINT,
  pid           BIGINT,
  pid_started   BIGINT,
  exit_code     BIGINT,
  signal        BIGINT,
  tokens        BIGINT,
  cost_usd      DOUBLE PRECISION,
  cancel_reason TEXT COLLATE "C",
  resolved_by   TEXT COLLATE "C",
  resolved_at   BIGINT,
  pruned        BIGINT NOT NULL DEFAULT 0,
  UNIQUE (key, attempt)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
CREATE INDEX run_job ON run (job_id, claimed_at);
CREATE INDEX run_recent ON run (claimed_at);
CREATE INDEX run_failed ON run (claimed_at, job_id) WHERE state IN ('failed', 'blocked');
CREATE INDEX run_unknown ON run (claimed_at) WHERE state = 'unknown';
CREATE INDEX run_live ON run (gateway_id) WHERE state IN ('claimed', 'running');
CREATE INDEX run_cancel ON run (gateway_id) WHERE cancel_reason IS NOT NULL AND state IN ('claimed', 'running');
CREATE INDEX run_finished ON run (pruned, finished_at) WHERE finished_at IS NOT NULL;

CREATE TRIGGER run_terminal BEFORE UPDATE OF state ON run FOR EACH ROW
WHEN (OLD.state IN ('completed', 'failed', 'cancelled', 'blocked', 'released')
  OR (OLD.state = 'unknown' AND NEW.state NOT IN ('completed', 'failed')))
EXECUTE FUNCTION refuse_change('a finished run is immutable');

CREATE TABLE output (
  run_id     TEXT COLLATE "C" PRIMARY KEY,
  message    TEXT COLLATE "C" NOT NULL,
  stdout     TEXT COLLATE "C" NOT NULL,
  stderr     TEXT COLLATE "C" NOT NULL,
  stdout_cut BIGINT NOT NULL,
  stderr_cut BIGINT NOT NULL,
  pruned_at  BIGINT
);

CREATE TABLE delivery (
  id         BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  run_id     TEXT COLLATE "C" NOT NULL,
  target     TEXT COLLATE "C" NOT NULL,
  state      TEXT COLLATE "C" NOT NULL DEFAULT 'pending' CHECK (state IN
    ('pending', 'sending', 'delivered', 'failed', 'unknown', 'suppressed', 'expired')),
  title      TEXT COLLATE "C" NOT NULL,
  alert      BIGINT NOT NULL,
  attempts   BIGINT NOT NULL DEFAULT 0,
  reason     TEXT COLLATE "C",
  evidence   TEXT COLLATE "C",
  created_at BIGINT NOT NULL,
  changed_at BIGINT NOT NULL,
  UNIQUE (run_id, target)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
CREATE INDEX delivery_lost ON delivery (id) WHERE state IN ('failed', 'unknown');
CREATE INDEX delivery_open ON delivery (run_id) WHERE state IN ('pending', 'sending');

CREATE TRIGGER delivery_terminal BEFORE UPDATE OF state ON delivery FOR EACH ROW
WHEN (OLD.state IN ('delivered', 'failed', 'unknown', 'suppressed', 'expired'))
EXECUTE FUNCTION refuse_change('a finished delivery is immutable');

CREATE TABLE journal (
  seq      BIGINT PRIMARY KEY,
  at       BIGINT NOT NULL,
  actor    TEXT COLLATE "C" NOT NULL,
  what     TEXT COLLATE "C" NOT NULL,
  job_id   TEXT COLLATE "C",
  key      TEXT COLLATE "C",
  run_id   TEXT COLLATE "C",
  detail   TEXT COLLATE "C" NOT NULL,
  chain    TEXT COLLATE "C" NOT NULL DEFAULT '',
  number   BIGINT NOT NULL DEFAULT 0,
  hash     TEXT COLLATE "C",
  undoable BIGINT NOT NULL DEFAULT 0,
  undoes   BIGINT,
  redo     BIGINT NOT NULL DEFAULT 0,
  was_key  TEXT COLLATE "C"
) WITH (autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05);
CREATE INDEX journal_job ON journal (job_id, seq) WHERE job_id IS NOT NULL AND key IS NULL; -- about the job itself
CREATE INDEX journal_key ON journal (key, seq) WHERE key IS NOT NULL;
CREATE INDEX journal_people ON journal (seq) WHERE actor <> 'gateway';
CREATE INDEX journal_undone ON journal (undoes) WHERE undoes IS NOT NULL;
CREATE INDEX journal_was ON journal (job_id, was_key) WHERE was_key IS NOT NULL;
CREATE UNIQUE INDEX journal_chain_number ON journal (chain, number) WHERE number > 0;
CREATE INDEX journal_at ON journal (at);

CREATE TABLE journal_chain (
  chain  TEXT COLLATE "C" PRIMARY KEY,
  number BIGINT NOT NULL,
  hash   TEXT COLLATE "C" NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);

CREATE TABLE journal_marker (
  chain     TEXT COLLATE "C" NOT NULL,
  number    BIGINT NOT NULL,
  hash      TEXT COLLATE "C" NOT NULL,
  count     BIGINT NOT NULL,
  at        BIGINT NOT NULL,
  signer    TEXT COLLATE "C" NOT NULL,
  signature TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (chain, number)
);

CREATE TABLE zone_data (
  id      BIGINT PRIMARY KEY CHECK (id = 1),
  version TEXT COLLATE "C" NOT NULL
);

CREATE TABLE document (
  kind       TEXT COLLATE "C" NOT NULL CHECK (kind IN ('job', 'script')),
  name       TEXT COLLATE "C" NOT NULL,
  digest     TEXT COLLATE "C" NOT NULL,
  text       TEXT COLLATE "C" NOT NULL,
  mode       BIGINT NOT NULL DEFAULT 420,
  changed_at BIGINT NOT NULL,
  changed_by TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (kind, name)
);

-- How far each gateway's transactions have come. A commit whose answer was lost with the connection is looked up here.
CREATE TABLE commit_mark (
  writer TEXT COLLATE "C" PRIMARY KEY,
  mark   BIGINT NOT NULL,
  at     TIMESTAMPTZ NOT NULL DEFAULT now()
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);

-- Moves a writer's mark from where the writer believes it to be, if this transaction has written anything at all.
CREATE FUNCTION move_mark(who TEXT, believed BIGINT) RETURNS BIGINT LANGUAGE plpgsql AS $$
DECLARE
  found_at BIGINT;
BEGIN
  IF pg_current_xact_id_if_assigned() IS NULL THEN
    RETURN believed;
  END IF;
  INSERT INTO commit_mark AS m (writer, mark) VALUES (who, believed + 1)
    ON CONFLICT (writer) DO UPDATE SET mark = m.mark + 1, at = now() WHERE m.mark = believed
    RETURNING mark INTO found_at;
  IF found_at IS NULL THEN
    RAISE EXCEPTION 'somebody has asked what became of this transaction' USING ERRCODE = 'serialization_failure';
  END IF;
  RETURN found_at;
END $$;
