"""The control service: standing queries over HTTP, and a live page. Detection never waits for it."""
