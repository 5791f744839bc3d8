"""The overload detector: the work that waits, and the time that it takes (P7, G7)."""
