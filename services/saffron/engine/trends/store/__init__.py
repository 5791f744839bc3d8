"""The store of a trend query: its arrays, how they grow, and snapshots."""
