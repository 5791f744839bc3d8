"""OUTPUT FIRST and LONGEST where nothing is consumed and matches wait: the best one of each first event and window."""

from __future__ import annotations

import numpy as np

from saffron.engine.match.core.kernel_layout import FIRST_ROW, LAST_ROW
from saffron.engine.match.selection.entries import Entries
from saffron.engine.match.selection.stored import Stored


def best(entries: Entries, stored: Stored, *, longest: bool) -> Entries:
    """The best match of each first event and window, from `entries` in the order of results.

    Best is the match that ends first, then the one with most events. With `longest` it is the match with most events,
    then the one that ends first. Of equals the first one is best.
    """
    if len(entries) < 2:
        return entries
    size = -stored.counts(entries).sum(axis=1)
    first, last = entries.found[FIRST_ROW], entries.found[LAST_ROW]
    rank = (last, size) if longest else (size, last)
    order = np.lexsort((*rank, entries.windows, first))
    start = np.ones(len(order), np.bool_)
    start[1:] = np.diff(first[order]) != 0
    start[1:] |= np.diff(entries.windows[order]) != 0
    return entries if start.all() else entries.only(np.sort(order[start]))
