"""Phrases: a small fixed English for schedules, as a grammar."""
