"""Tokens, grammar and syntax tree."""
