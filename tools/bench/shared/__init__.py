"""What benchmarks share: their arguments and tables, workloads, and the systems that they start."""
