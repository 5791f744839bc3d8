"""Features of events: which there are, their keys, their counts (G1, G2, G4)."""
