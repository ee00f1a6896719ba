"""Cron lines: text to rules, and sets back to text."""
