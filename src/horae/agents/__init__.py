"""Agents: what works inside a run's own process. Nothing here is loaded by the gateway."""
