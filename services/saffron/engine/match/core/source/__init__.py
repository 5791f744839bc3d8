"""Source text of kernels: expressions of a plan, their arithmetic, and lines."""
