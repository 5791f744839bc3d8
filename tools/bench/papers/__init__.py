"""Benchmarks on the papers' own queries, as their figures have them, beside the algorithms that they compare with."""
