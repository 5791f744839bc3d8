"""Vectors of eight numbers inside kernels: their type, functions and operators, and the same functions for NumPy."""
