"""Loops specialised for a query, and columns prepared for them."""
