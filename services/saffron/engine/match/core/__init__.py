"""Parts that all match engines share: automaton, rows, runs, match buffer, keys, windows."""
