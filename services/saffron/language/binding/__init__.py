"""The binding of match queries: from the syntax tree to a plan."""
