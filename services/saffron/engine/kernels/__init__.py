"""Numba kernels: the one way to make them, and their cache."""
