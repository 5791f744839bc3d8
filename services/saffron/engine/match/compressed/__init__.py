"""All matches that end with one event as one graph (N8, X5): built without runs, counted without listing them."""
