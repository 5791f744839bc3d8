"""Chains that write results in transactions: the services `matcher` and `greta`."""
