"""Explanations of plans: text, JSON and drawings."""
