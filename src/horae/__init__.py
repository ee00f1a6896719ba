"""Horae: a scheduler for unattended work that keeps one honest row for every planned instant."""

__version__ = "0.1.0"
