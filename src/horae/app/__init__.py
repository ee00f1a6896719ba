"""Use cases: one function a verb, with typed arguments and plain results, shared by every face.

A result is the JSON that a face prints (docs/reference/cli.md). Whatever changes something says what it `did` and how to
`undo` it. Refusals are raised; nothing here formats, and nothing here knows which face asked.
"""
