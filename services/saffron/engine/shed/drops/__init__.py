"""What may be dropped, in which order, and how much of it."""
