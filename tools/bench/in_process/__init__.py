"""Benchmarks of the engines, the command and the API alone: no broker, one process."""
