"""The execution of drop orders (P8): the choice of partial matches to drop, and their removal from pools.

A partial match is a run. Merged runs (N7) count each by itself, so an order leaves the same ones whether runs merge or
not. Merged runs are split only where some of them have to go and others stay.

Dropping partial matches makes no false match. Conditions, strategies and NOT are judged on what a run has bound and on
stored events, never on other runs. Some things choose among matches: CONSUME, FIRST, LONGEST, NON-OVERLAP, WITH
TIMEOUTS, and queries that read the results of others. They then choose among fewer.
"""
