"""Kernels of flat patterns, written for each: a pool of runs for each state."""
