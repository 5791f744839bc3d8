"""All operators chained in one process, and `why`."""
