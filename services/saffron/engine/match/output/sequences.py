"""The matches found in a block as sequence numbers alone, for callers that make no JSON."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saffron.engine.match.core import chains
from saffron.engine.match.core.rows import SEQ
from saffron.engine.match.output.prefixes import written
from saffron.engine.match.runs.query_runs import QueryRuns

Ints = NDArray[np.int64]


def sequences(runs: QueryRuns) -> tuple[Ints, Ints]:
    """int64 [matches, components]: how many events each component bound; and all sequence numbers.

    They stand match by match in the order of results, within a match by component, within it in order. A match counts
    once here, whatever windows it lies in. Valid copies: the next block changes nothing in them.
    """
    seqs = runs.rows.columns[SEQ].astype(np.int64, copy=False)
    enumerated = runs.source.enumerated()
    if enumerated is None and runs.program.flat:
        merging = runs.program.defers
        return written(runs.found, runs.plan.positive, runs.rows.mask, runs.nodes, seqs, merging=merging)
    counts, places = bound(runs, runs.found) if enumerated is None else enumerated
    return counts, seqs[places]


def bound(runs: QueryRuns, found: Ints) -> tuple[Ints, Ints]:
    """The events bound by matches [FOUND_ROWS, n]: counts as in `sequences`, and places in the ring of rows."""
    found = np.ascontiguousarray(found)
    counts = np.zeros((found.shape[1], runs.plan.positive), np.int64)
    chains.measure(found, *runs.nodes.arrays, counts)
    places = np.empty(int(counts.sum()), np.int64)
    chains.walk(found, runs.rows.mask, *runs.nodes.arrays, counts, places)
    return counts, places
