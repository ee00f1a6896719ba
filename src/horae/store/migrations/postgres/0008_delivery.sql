-- Deliveries with a life of their own, incidents, and what is expected of jobs.

ALTER TABLE delivery DROP CONSTRAINT delivery_run_id_target_key;
ALTER TABLE delivery ALTER COLUMN run_id DROP NOT NULL;
ALTER TABLE delivery ADD COLUMN job_id TEXT COLLATE "C";
ALTER TABLE delivery ADD COLUMN incident_id TEXT COLLATE "C";
ALTER TABLE delivery ADD COLUMN kind TEXT COLLATE "C" NOT NULL DEFAULT 'result';
ALTER TABLE delivery ADD COLUMN address TEXT COLLATE "C";
ALTER TABLE delivery ADD COLUMN round BIGINT NOT NULL DEFAULT 0;
ALTER TABLE delivery ADD COLUMN body TEXT COLLATE "C";
ALTER TABLE delivery ADD COLUMN format TEXT COLLATE "C" NOT NULL DEFAULT 'text';
ALTER TABLE delivery ADD COLUMN digest BIGINT NOT NULL DEFAULT 0;
ALTER TABLE delivery ADD COLUMN batch BIGINT;
ALTER TABLE delivery ADD COLUMN due_at BIGINT;
ALTER TABLE delivery ADD COLUMN expires_at BIGINT;
ALTER TABLE delivery ADD COLUMN token BIGINT;
ALTER TABLE delivery ADD COLUMN gateway_id TEXT COLLATE "C";
ALTER TABLE delivery ADD COLUMN doubt BIGINT NOT NULL DEFAULT 0;
ALTER TABLE delivery ADD COLUMN followed_at BIGINT;
ALTER TABLE delivery ADD COLUMN seen_at BIGINT;
UPDATE delivery SET job_id = (SELECT r.job_id FROM run r WHERE r.id = delivery.run_id), address = target,
  followed_at = changed_at, due_at = created_at, expires_at = created_at + 2592000000000;
UPDATE delivery SET state = 'unknown', reason = 'the gateway ended while it was being sent' WHERE state = 'sending';
ALTER TABLE delivery ALTER COLUMN address SET NOT NULL;
ALTER TABLE delivery ALTER COLUMN due_at SET NOT NULL;
ALTER TABLE delivery ALTER COLUMN expires_at SET NOT NULL;
DROP INDEX delivery_lost;
DROP INDEX delivery_open;
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

CREATE TABLE closed_address (
  address   TEXT COLLATE "C" PRIMARY KEY,
  reason    TEXT COLLATE "C" NOT NULL,
  closed_at BIGINT NOT NULL
);

CREATE TABLE incident (
  id            TEXT COLLATE "C" PRIMARY KEY,
  job_id        TEXT COLLATE "C" NOT NULL,
  kind          TEXT COLLATE "C" NOT NULL CHECK (kind IN ('failed', 'blocked', 'unknown', 'overdue', 'quiet', 'undelivered')),
  cause         TEXT COLLATE "C" NOT NULL,
  says          TEXT COLLATE "C" NOT NULL,
  opened_at     BIGINT NOT NULL,
  last_at       BIGINT NOT NULL,
  count         BIGINT NOT NULL DEFAULT 1,
  run_id        TEXT COLLATE "C",
  told_at       BIGINT,
  remind_at     BIGINT,
  reminders     BIGINT NOT NULL DEFAULT 0,
  acked_at      BIGINT,
  acked_by      TEXT COLLATE "C",
  snoozed_until BIGINT,
  ended_at      BIGINT,
  ended_by      TEXT COLLATE "C"
);
CREATE UNIQUE INDEX incident_open ON incident (job_id, kind, cause) WHERE ended_at IS NULL;
CREATE INDEX incident_undelivered ON incident (cause) WHERE kind = 'undelivered' AND ended_at IS NULL;
CREATE INDEX incident_remind ON incident (remind_at) WHERE remind_at IS NOT NULL AND ended_at IS NULL;
CREATE INDEX incident_ended ON incident (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE expectation (
  job_id TEXT COLLATE "C" NOT NULL,
  kind   TEXT COLLATE "C" NOT NULL CHECK (kind IN ('by', 'every')),
  since_at BIGINT NOT NULL,
  due_at BIGINT NOT NULL,
  PRIMARY KEY (job_id, kind)
);
CREATE INDEX expectation_due ON expectation (due_at);

ALTER TABLE job ADD COLUMN failing BIGINT NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN silent BIGINT NOT NULL DEFAULT 0;
