-- What an attempt was due, where a damaged job stopped, and what people ask about that is at rest.

ALTER TABLE run ADD COLUMN due_at INTEGER; -- of this attempt: a retry moves that of its occurrence on; NULL before this column
DROP INDEX run_failed; -- as narrow as the one over all runs, or SQLite takes that one
CREATE INDEX run_failed ON run (claimed_at) WHERE state IN ('failed', 'blocked');
CREATE INDEX run_given_up ON run (claimed_at) WHERE state IN ('cancelled', 'released');
ALTER TABLE job ADD COLUMN aside_at INTEGER; -- of a job that was set aside: up to here its slots have their outcomes
CREATE INDEX job_removed ON job (slug) WHERE removed_at IS NOT NULL;
CREATE INDEX job_removed_name ON job (name) WHERE removed_at IS NOT NULL;
