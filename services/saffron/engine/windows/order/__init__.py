"""The order of events: which are late, how long the others are held back, and how far the watermark is."""
