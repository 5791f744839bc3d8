"""Match queries of any shape: the pattern as a table of states, one pool of runs, one kernel that walks the table."""
