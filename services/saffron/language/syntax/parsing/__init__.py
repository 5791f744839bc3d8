"""Parsers: from the tokens of a query to its tree."""
