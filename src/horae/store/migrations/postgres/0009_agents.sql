-- Agents: what their runs used and left behind, what budgets count, what waits for a person, and what starts after what.

ALTER TABLE job ADD COLUMN model TEXT COLLATE "C";
ALTER TABLE job ADD COLUMN after_ref TEXT COLLATE "C";
CREATE INDEX job_after ON job (after_ref) WHERE after_ref IS NOT NULL;
UPDATE job SET signature = '' WHERE definition <> '' AND definition NOT LIKE '%"agent": false%'
  AND signature NOT IN ('parked', 'gone');

ALTER TABLE run ADD COLUMN model TEXT COLLATE "C";
ALTER TABLE run ADD COLUMN prompt_sha256 TEXT COLLATE "C";
ALTER TABLE run ADD COLUMN turns BIGINT;
ALTER TABLE run ADD COLUMN tokens_in BIGINT;
ALTER TABLE run ADD COLUMN tokens_out BIGINT;
ALTER TABLE run ADD COLUMN equipped_at BIGINT;
ALTER TABLE run ADD COLUMN reserved_tokens BIGINT;
ALTER TABLE run ADD COLUMN reserved_usd DOUBLE PRECISION;
ALTER TABLE run ADD COLUMN held BIGINT NOT NULL DEFAULT 0;
CREATE INDEX run_spending ON run (finished_at) WHERE equipped_at IS NOT NULL;
CREATE INDEX run_spending_of_job ON run (job_id, finished_at) WHERE equipped_at IS NOT NULL;

ALTER TABLE occurrence ADD COLUMN replay_of TEXT COLLATE "C";
ALTER TABLE occurrence ADD COLUMN model TEXT COLLATE "C";
ALTER TABLE occurrence ADD COLUMN cause TEXT COLLATE "C";
ALTER TABLE occurrence ADD COLUMN caused_by TEXT COLLATE "C";
ALTER TABLE occurrence ADD COLUMN later TEXT COLLATE "C";

CREATE TABLE activity (
  run_id TEXT COLLATE "C" NOT NULL,
  number BIGINT NOT NULL,
  at     BIGINT NOT NULL,
  kind   TEXT COLLATE "C" NOT NULL,
  detail TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (run_id, number)
);

CREATE TABLE agent_prompt (
  run_id TEXT COLLATE "C" PRIMARY KEY,
  text   TEXT COLLATE "C" NOT NULL
);

CREATE TABLE notepad (
  job_id     TEXT COLLATE "C" NOT NULL,
  key        TEXT COLLATE "C" NOT NULL,
  value      TEXT COLLATE "C" NOT NULL,
  run_id     TEXT COLLATE "C" NOT NULL,
  changed_at BIGINT NOT NULL,
  PRIMARY KEY (job_id, key)
);

CREATE TABLE watched (
  job_id     TEXT COLLATE "C" PRIMARY KEY,
  sha256     TEXT COLLATE "C" NOT NULL,
  text       TEXT COLLATE "C" NOT NULL,
  run_id     TEXT COLLATE "C" NOT NULL,
  changed_at BIGINT NOT NULL
);

CREATE TABLE resume (
  key    TEXT COLLATE "C" PRIMARY KEY,
  run_id TEXT COLLATE "C" NOT NULL,
  state  TEXT COLLATE "C",
  ask_id TEXT COLLATE "C",
  at     BIGINT NOT NULL
);

CREATE TABLE ask (
  id         TEXT COLLATE "C" PRIMARY KEY,
  kind       TEXT COLLATE "C" NOT NULL CHECK (kind IN ('call', 'job', 'message')),
  job_id     TEXT COLLATE "C" NOT NULL,
  run_id     TEXT COLLATE "C" NOT NULL,
  key        TEXT COLLATE "C" NOT NULL,
  body       TEXT COLLATE "C" NOT NULL,
  asked_at   BIGINT NOT NULL,
  expires_at BIGINT,
  decided_at BIGINT,
  decision   TEXT COLLATE "C" CHECK (decision IN ('approved', 'denied', 'expired')),
  decided_by TEXT COLLATE "C",
  reason     TEXT COLLATE "C"
);
CREATE INDEX ask_open ON ask (asked_at) WHERE decided_at IS NULL;
CREATE INDEX ask_decided ON ask (decided_at) WHERE decided_at IS NOT NULL;
CREATE INDEX ask_run ON ask (run_id);

CREATE TABLE budget (
  id BIGINT PRIMARY KEY CHECK (id = 1),
  at BIGINT NOT NULL
);
