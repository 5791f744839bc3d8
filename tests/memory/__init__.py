"""The log's twin in memory, for tests: brokers, consumer groups and clients in one process, on a given clock."""
