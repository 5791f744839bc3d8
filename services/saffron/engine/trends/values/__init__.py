"""RETURN and HAVING of trend queries."""
