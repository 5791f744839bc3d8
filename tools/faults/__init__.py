"""Faults on a running system: killed, paused and restarted by a seed, and every result compared with `replay`."""
