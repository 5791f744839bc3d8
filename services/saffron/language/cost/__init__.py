"""The cost of a query, and the shedders that can act on it."""
