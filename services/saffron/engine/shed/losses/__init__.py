"""Estimates of the matches that dropping has lost."""
