"""The gateway's local socket: the command line hands it what it wants changed, so that one process writes."""
