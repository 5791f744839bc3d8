"""Kernels compiled ahead of their use."""
