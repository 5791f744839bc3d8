"""Rules of the exact path: of times, kinds of values and `$watermark` records, each breach with its reason."""
