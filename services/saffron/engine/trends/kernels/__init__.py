"""The loops of every trend query: GRETA's algorithms 2 and 3 over flat arrays."""
