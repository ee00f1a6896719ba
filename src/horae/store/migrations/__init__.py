"""Numbered schema changes, applied in order and never edited after a release."""
