-- What a run used, what is known of its process tree, what of it is kept as files, and where its shim's spool is.
-- NULL before these columns.

ALTER TABLE run ADD COLUMN wall_s REAL; -- of its main process
ALTER TABLE run ADD COLUMN cpu_s REAL;
ALTER TABLE run ADD COLUMN peak_bytes INTEGER;
ALTER TABLE run ADD COLUMN out_bytes INTEGER; -- printed on both streams, kept or not
ALTER TABLE run ADD COLUMN survivors INTEGER; -- processes that had to be killed
ALTER TABLE run ADD COLUMN proved INTEGER; -- 1: nothing of it is left; 0: that could not be proved
ALTER TABLE run ADD COLUMN files TEXT; -- names below state/output/<run id>, with spaces between them
ALTER TABLE run ADD COLUMN attachments TEXT; -- JSON: those of its files that belong to its message
ALTER TABLE gateway ADD COLUMN spool TEXT; -- the folder in which its shims write, on its machine
