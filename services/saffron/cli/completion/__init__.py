"""Completion of commands, options and names by shells."""
