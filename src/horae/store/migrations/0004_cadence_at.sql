-- When the cadence changed last: runs that were claimed before do not count for `repeat`. Until now `anchor_at` said that
-- too; now it stays what the schedule counts from for as long as the schedule's text is the same.

ALTER TABLE job ADD COLUMN cadence_at INTEGER NOT NULL DEFAULT 0;
UPDATE job SET cadence_at = anchor_at;
