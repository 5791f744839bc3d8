"""Standing match queries: which engine runs a plan, snapshots, results as events."""
