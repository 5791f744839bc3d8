"""The virtual clock of `saffron replay --latency-bound` and of the papers' experiments: it counts costs, not time."""
