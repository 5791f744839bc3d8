"""Streams and their schemas as the control topics have them; formats and registries of messages."""
