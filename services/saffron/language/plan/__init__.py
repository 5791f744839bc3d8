"""Plans: what a query means, and what can be told from it."""
