"""`matcher`: NFA^b runs (N1-N9) as generated Numba kernels over flat arrays; `operator.MatchOperator` is the door."""
