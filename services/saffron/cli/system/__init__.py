"""Commands about the running system."""
