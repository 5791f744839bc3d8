"""Commands about streams and their events."""
