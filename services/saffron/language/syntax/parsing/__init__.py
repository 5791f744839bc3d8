"""Parsers: from the text of a query to its tree, by tokens."""
