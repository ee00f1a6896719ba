"""The command line: parse, call one use case, render. Names, JSON and exit statuses: docs/reference/cli.md."""
