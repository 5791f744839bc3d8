"""Results of match queries as JSON."""
