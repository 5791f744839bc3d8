"""Compilation of kernels ahead of time."""
