"""Names and types of one query."""
