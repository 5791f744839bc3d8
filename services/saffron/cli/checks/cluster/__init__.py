"""Checks of a running system, each a function of one look at it."""
