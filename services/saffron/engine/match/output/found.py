"""The entries of the block at hand: matches of the kernels, by window."""

from __future__ import annotations

import numpy as np

from saffron.engine.match.core.kernel_layout import ALL_WINDOWS, FIRST_ROW, LAST_ROW, LEAD, LOW, SERIAL
from saffron.engine.match.core.rows import SEQ
from saffron.engine.match.runs.query_runs import QueryRuns
from saffron.engine.match.selection.entries import Entries


def entries_of(runs: QueryRuns) -> Entries:
    """The entries of the block's matches, one for each match and window, without those that a leading NOT rules out."""
    found = runs.found.copy()
    columns, mask, clock = runs.rows.columns, runs.rows.mask, runs.store.clock()
    first, last = found[FIRST_ROW] & mask, found[LAST_ROW] & mask
    windows = runs.store.windows.holding(columns[SEQ][first], clock[first], clock[last])
    if windows is None:
        return Entries(found, None, None)
    match, lows, serials = windows
    found = np.ascontiguousarray(found[:, match])
    kept = (found[LOW] == ALL_WINDOWS) | ((found[LOW] == lows) & (found[SERIAL] == serials))
    lead = found[LEAD] & mask
    before = columns[SEQ][lead] < serials if runs.plan.window.opens is not None else clock[lead] < lows
    kept &= (found[LEAD] < 0) | before
    return Entries(found, lows, serials) if kept.all() else Entries(found, lows, serials).only(kept)
