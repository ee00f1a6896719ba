"""The ledger on disk, and the folder of job files beside it."""
