"""Control records: what stands on the topics `streams`, `queries` and `query-status`.

One typed model of each, one codec and one fold, for all services, the API and the commands. Pure: no broker, no clock.
"""
