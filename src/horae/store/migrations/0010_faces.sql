-- Faces: who may look and act, answers to requests that are sent twice, calls of hooks, and drafts that no run has made.

CREATE TABLE credential (
  id         TEXT PRIMARY KEY,
  kind       TEXT NOT NULL CHECK (kind IN ('link', 'session', 'token')),
  name       TEXT NOT NULL,                  -- of a person, or of the program that was given it
  role       TEXT NOT NULL CHECK (role IN ('read', 'operate', 'admin')),
  sha256     TEXT NOT NULL UNIQUE,           -- of the secret, which is nowhere
  made_at    INTEGER NOT NULL,
  made_by    TEXT NOT NULL,
  expires_at INTEGER,
  used_at    INTEGER,                        -- to the hour
  ended_at   INTEGER                         -- used up, signed out or revoked
) STRICT, WITHOUT ROWID;

CREATE TABLE once (                          -- requests with a key of their own, so that one sent twice is done once
  scope  TEXT NOT NULL,                      -- whose key it is
  key    TEXT NOT NULL,
  digest TEXT NOT NULL,                      -- of the request
  at     INTEGER NOT NULL,
  answer TEXT,                               -- JSON; NULL while it is being done, or when nobody knows
  PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX once_at ON once (at);

CREATE TABLE hook_call (                     -- calls of hooks that were taken, so that none is taken twice
  hook    TEXT NOT NULL,
  message TEXT NOT NULL,                     -- its own id, or the digest of what came
  at      INTEGER NOT NULL,
  answer  TEXT,                              -- JSON, for whoever calls again
  PRIMARY KEY (hook, message)
) STRICT, WITHOUT ROWID;
CREATE INDEX hook_call_at ON hook_call (at);

CREATE TABLE ask_new (                       -- what waits, or has waited, for a person's word
  id         TEXT PRIMARY KEY,
  kind       TEXT NOT NULL CHECK (kind IN ('call', 'job', 'message')),
  job_id     TEXT REFERENCES job (id),       -- none of these three for a draft that no run has made
  run_id     TEXT,
  key        TEXT,
  body       TEXT NOT NULL,                  -- JSON
  asked_by   TEXT,                           -- who has made such a draft
  asked_at   INTEGER NOT NULL,
  expires_at INTEGER,
  decided_at INTEGER,
  decision   TEXT CHECK (decision IN ('approved', 'denied', 'expired')),
  decided_by TEXT,
  reason     TEXT,
  CHECK ((run_id IS NULL) = (asked_by IS NOT NULL))
) STRICT, WITHOUT ROWID;
INSERT INTO ask_new (id, kind, job_id, run_id, key, body, asked_at, expires_at, decided_at, decision, decided_by, reason)
  SELECT id, kind, job_id, run_id, key, body, asked_at, expires_at, decided_at, decision, decided_by, reason FROM ask;
DROP TABLE ask;
ALTER TABLE ask_new RENAME TO ask;
CREATE INDEX ask_open ON ask (asked_at) WHERE decided_at IS NULL;
CREATE INDEX ask_decided ON ask (decided_at) WHERE decided_at IS NOT NULL;
CREATE INDEX ask_run ON ask (run_id);

CREATE INDEX occurrence_past ON occurrence (due_at) WHERE state <> 'planned'; -- a stretch of time, of all jobs
