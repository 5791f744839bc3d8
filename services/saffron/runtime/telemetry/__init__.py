"""Metrics, health, digests, load reports."""
