"""The imperative shell around the core: what happens, in which order. No SQL, no subprocess, no formatting."""
