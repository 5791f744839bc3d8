"""Definitions of streams proposed from messages, each proposal with its reason."""
