"""Explanations of a plan before it runs: the engine that will run it, and the text of its kernels."""
