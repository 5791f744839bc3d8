"""Streams in the control service: changes and definitions checked before they are written, readings, trials."""
