"""Benchmarks of a whole system: a broker and all services on this machine."""
