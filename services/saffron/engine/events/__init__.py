"""Events: their schema, their decoding, and the columns and blocks in which they travel."""
