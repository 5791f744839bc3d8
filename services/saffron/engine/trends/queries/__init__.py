"""Trend queries at run time, alone or sharing a graph."""
