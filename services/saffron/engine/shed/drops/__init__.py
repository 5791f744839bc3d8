"""The choice of events and partial matches to drop: which ones, in which order, and how many."""
