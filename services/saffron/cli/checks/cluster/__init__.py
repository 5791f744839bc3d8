"""Checks of a running system, each a function of one snapshot of it."""
