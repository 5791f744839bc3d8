"""The binding of aggregate queries to GRETA templates."""
