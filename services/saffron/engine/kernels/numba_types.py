"""Numba's types, as signatures of kernels name them: the package takes them from here, so that nothing else of it
imports Numba."""

from numba import boolean, float64, int8, int16, int32, int64, types, uint8, uint32, uint64, void

__all__ = ["boolean", "float64", "int8", "int16", "int32", "int64", "types", "uint8", "uint32", "uint64", "void"]
