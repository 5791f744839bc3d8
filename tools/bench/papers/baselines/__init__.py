"""Other ways to find the same matches, for comparison only: small, and each written for the paper's template alone.

They read arrays of the whole stream and give their number of matches and the hash of the match set (`set_hash`), so
that only equal work is compared. Each match is read back from the buffer, event by event, unless told not to.
"""
