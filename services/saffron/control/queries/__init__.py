"""Queries in the control service: what the control topics say of them, and who reads their results."""
