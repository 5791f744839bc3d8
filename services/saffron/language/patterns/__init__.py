"""The shape of a pattern: components, positions, what may follow what."""
