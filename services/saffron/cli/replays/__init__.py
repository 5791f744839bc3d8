"""Commands that run without services: replay, backfill."""
