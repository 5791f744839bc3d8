"""Control records: the content of the topics `streams`, `queries` and `query-status`.

One typed model, codec and table of each, for services, API and commands. Pure: no broker, no clock.
"""
