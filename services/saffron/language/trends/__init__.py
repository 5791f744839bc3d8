"""Aggregate queries: GRETA templates."""
