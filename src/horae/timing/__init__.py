"""Time, pure: recurrence sets, cron, phrases, clock changes, words. No clock is read here: `now` is an argument."""
