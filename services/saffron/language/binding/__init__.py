"""Match queries: from tree to plan."""
