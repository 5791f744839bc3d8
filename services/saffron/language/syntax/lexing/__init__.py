"""Tokens of a query's text, and the cursor that parsers read them by."""
