"""Fused replay: all operators chained in one process, and `why`."""
