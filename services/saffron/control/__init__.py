"""The control service: queries and streams over HTTP, and a live page. Detection never waits for it."""
