"""The shape of a pattern: its components, the positions of a run, and their successors."""
