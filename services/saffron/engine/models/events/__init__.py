"""Models of events: utilities, thresholds, training (G3 to G6, G9)."""
