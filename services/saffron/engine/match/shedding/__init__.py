"""Carrying out what the shedder decided (P8): which partial matches an order drops, and how they leave their pools.

A partial match is a run, those that follow another one (N7) each by itself: what an order leaves is the same whether
runs merge or not. Merged runs go apart only where one has to go that leads others which stay.

Dropping partial matches makes no false match: conditions, strategies and NOT are judged on what a run has bound and on
stored events, never on other runs. What chooses among matches (CONSUME, FIRST, LONGEST, NON-OVERLAP), WITH TIMEOUTS and
queries that read the results of others then choose among fewer.
"""
