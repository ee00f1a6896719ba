"""Time, pure: recurrence sets, cron, phrases, clock changes, words. No clock is read here; every `now` is an argument."""
