"""Commands about queries."""
