"""What a query can cost, and what of it can be shed."""
