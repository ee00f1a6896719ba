-- Faces: who may look and act, answers to requests that are sent twice, calls of hooks, and drafts that no run has made.

CREATE TABLE credential (
  id         TEXT COLLATE "C" PRIMARY KEY,
  kind       TEXT COLLATE "C" NOT NULL CHECK (kind IN ('link', 'session', 'token')),
  name       TEXT COLLATE "C" NOT NULL,
  role       TEXT COLLATE "C" NOT NULL CHECK (role IN ('read', 'operate', 'admin')),
  sha256     TEXT COLLATE "C" NOT NULL UNIQUE,
  made_at    BIGINT NOT NULL,
  made_by    TEXT COLLATE "C" NOT NULL,
  expires_at BIGINT,
  used_at    BIGINT,
  ended_at   BIGINT
);

CREATE TABLE once (
  scope  TEXT COLLATE "C" NOT NULL,
  key    TEXT COLLATE "C" NOT NULL,
  digest TEXT COLLATE "C" NOT NULL,
  at     BIGINT NOT NULL,
  answer TEXT COLLATE "C",
  PRIMARY KEY (scope, key)
);
CREATE INDEX once_at ON once (at);

CREATE TABLE hook_call (
  hook    TEXT COLLATE "C" NOT NULL,
  message TEXT COLLATE "C" NOT NULL,
  at      BIGINT NOT NULL,
  answer  TEXT COLLATE "C",
  PRIMARY KEY (hook, message)
);
CREATE INDEX hook_call_at ON hook_call (at);

ALTER TABLE ask ALTER COLUMN job_id DROP NOT NULL;
ALTER TABLE ask ALTER COLUMN run_id DROP NOT NULL;
ALTER TABLE ask ALTER COLUMN key DROP NOT NULL;
ALTER TABLE ask ADD COLUMN asked_by TEXT COLLATE "C";
ALTER TABLE ask ADD CHECK ((run_id IS NULL) = (asked_by IS NOT NULL));

CREATE INDEX occurrence_past ON occurrence (due_at) WHERE state <> 'planned';
