"""Trend queries at work, alone or sharing a graph."""
