"""The face for browsers and programs: pages, REST, server-sent events. Each route parses, calls one use case, and renders."""
