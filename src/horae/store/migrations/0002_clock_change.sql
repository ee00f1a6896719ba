-- What a job says about wall times that the clock skips or shows twice. NULL is the default of its schedule, which is
-- what every job had before this step.

ALTER TABLE job ADD COLUMN clock_gap TEXT CHECK (clock_gap IN ('shift', 'after', 'skip'));
ALTER TABLE job ADD COLUMN clock_repeat TEXT CHECK (clock_repeat IN ('first', 'both', 'last'));
