"""Plans: bound queries, and properties that follow from a plan alone."""
