"""Limits of queries, from the capacities of the engines, and of what is kept of them."""

from __future__ import annotations

MAX_COMPONENTS = 30
"""Most components of a match query: its engine keeps two bits of an int64 for each."""
MAX_SEQUENCES = 128
"""Most sequences in one NOT; AND inside a NOT has one for each order of its events."""
MAX_REPORTS = 10_000
"""Most times that NOT ... EVERY ends in one window, as a match is reported each time."""
MAX_TABLE_STATES = 5_000
"""Most states of the automaton of a pattern that is not flat."""
MAX_STATES = 62
"""Most states of an aggregate query: its engine keeps a bit of an int64 for each."""
MAX_WINDOWS = 10_000
"""Most windows that an event lies in, as each has an aggregate of its own (T5), and each match is a result of each."""
KEPT = 2_048
"""Most plans, and most of each thing that is made of one, that a process keeps for the next partition that asks."""
