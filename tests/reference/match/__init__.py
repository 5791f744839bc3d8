"""Match queries by definition."""
