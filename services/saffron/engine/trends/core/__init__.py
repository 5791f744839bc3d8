"""Arrays, numbers and limits of trend queries."""
