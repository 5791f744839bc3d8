"""Saffron: complex event processing on Kafka that keeps its answers on time."""

__version__ = "0.1.0"
