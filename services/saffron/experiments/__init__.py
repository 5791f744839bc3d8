"""The virtual clock of `saffron replay --latency-bound` and of the papers' experiments, and the papers' baselines.

The clock counts costs, not time.
"""
