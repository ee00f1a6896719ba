"""The face for agents: a server of the Model Context Protocol. Each tool calls one use case."""
