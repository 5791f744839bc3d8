"""Groups of nodes of one event by their slots, while a graph is built (kernel helpers).

A context is a vector of slots, numbered within its graph. The pairs of an event and component are its edges: which
context the new node would have, and which node comes before; those of one context make one node.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from saffron.engine.kernels.hashing import GOLDEN, chained
from saffron.engine.kernels.jit import jitable

CONTEXTS, PAIRS, GROUPS = range(3)  # places of `tally`


@jitable
def context_of(key: Any, stamp: int, held: Any, table: Any, stamps: Any, seen: Any, tally: Any) -> int:
    """The number of a context, made if there is none yet.

    key: int64 [slots]. held: int64 [contexts, slots]. table, stamps: int64 [a power of two]: a hash table, empty where
    its stamp is another one. seen: int64 [contexts], set to 0.
    """
    hashed = np.uint64(GOLDEN)
    for k in range(len(key)):
        hashed = chained(hashed, np.uint64(key[k]))
    mask = len(table) - 1
    at = np.int64(hashed & np.uint64(mask))
    while stamps[at] == stamp:
        found: int = table[at]
        same = True
        for k in range(len(key)):
            same = same and held[found, k] == key[k]
        if same:
            return found
        at = (at + 1) & mask
    made: int = tally[CONTEXTS]
    tally[CONTEXTS] = made + 1
    stamps[at] = stamp
    table[at] = made
    for k in range(len(key)):
        held[made, k] = key[k]
    seen[made] = 0
    return made


@jitable
def group_of(context: int, turn: int, seen: Any, group: Any, contexts: Any, degree: Any, tally: Any) -> int:
    """The number, in this turn, of the node that a context has, made if there is none yet.

    seen, group: int64 [contexts]. contexts, degree: int64 [groups]: their contexts, and how many pairs they have.
    """
    if seen[context] != turn:
        made = tally[GROUPS]
        tally[GROUPS] = made + 1
        seen[context] = turn
        group[context] = made
        contexts[made] = context
        degree[made] = 0
    number: int = group[context]
    return number


@jitable
def add_pair(number: int, source: int, degree: Any, pairs: Any, tally: Any) -> None:
    """Record that a node may follow node `source`. pairs: int64 [2, pairs]."""
    at = tally[PAIRS]
    tally[PAIRS] = at + 1
    pairs[0, at] = number
    pairs[1, at] = source
    degree[number] += 1


@jitable
def write_pairs(edges: int, before: Any, degree: Any, pairs: Any, tally: Any) -> int:
    """The pairs as edges from number `edges` on, group by group; where they end. `degree`: where those of each end."""
    low = edges
    for number in range(tally[GROUPS]):
        count = degree[number]
        degree[number] = low
        low += count
    for at in range(tally[PAIRS]):
        number = pairs[0, at]
        before[degree[number]] = pairs[1, at]
        degree[number] += 1
    return low
