"""Models of partial matches and of latency (P2 to P5, P7)."""
