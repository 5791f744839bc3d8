"""The engines that run plans, by the names that `saffron explain` shows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Engine(Enum):
    """An engine that runs plans; the value is its name for users. All that can run a plan give the same results."""

    SCAN = "scan"
    """Runs in a pool for each state; the kernel reads the block's own columns and passes over most events."""
    FLAT = "flat"
    """Runs in a pool for each state; the kernel is handed the events that can matter."""
    TABLE = "table"
    """Runs in one pool; the kernel walks a table of states, for any pattern."""
    GRAPHS = "graphs"
    """An engine without runs: it stores events, and lists matches from the graph of the event that ends them."""
    COLLAPSED = "collapsed graphs"
    """The engine GRAPHS with the graphs themselves as results (OUTPUT COMPRESSED)."""
    IMPRECISE = "imprecise time"
    """An engine without runs: it stores events, and searches the matches of each new event, with their confidence."""
    TRENDS = "trend graphs"
    """GRETA: kernels specialised for the query; numbers are int64 and float64, or exact beyond them."""
    EXACT_TRENDS = "trend graphs, exact"
    """GRETA in Python, over integers of any size."""


@dataclass(frozen=True)
class EngineChoice:
    """The engine of a plan. `reason`: a clause that says why.

    `merging`: the component in whose closure equivalent runs merge (N7), None where they stay apart.
    """

    engine: Engine
    reason: str
    merging: int | None = None
