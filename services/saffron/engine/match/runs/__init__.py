"""A query's runs over one partition, and its program."""
