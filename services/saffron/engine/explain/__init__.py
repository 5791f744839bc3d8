"""What the engine says of a plan before it runs: which engine runs it, and the text of its kernels."""
