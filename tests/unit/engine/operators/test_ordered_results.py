"""The results of a block in their published order, and which of them are of the past."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from saffron.engine.match.queries.history import PastResults
from saffron.engine.operators.results import PAST, Fired, OrderedResults


def found(position: int, times: Sequence[int]) -> PastResults:
    """Results at a position, of events at these times."""
    return PastResults(position, [b"{}"] * len(times), [None] * len(times), np.array(times, np.int64))


def test_a_block_says_which_of_its_results_are_of_the_past() -> None:
    parts = [Fired("old", found(7, [1, 2]), PAST), Fired("old", found(7, [90])), Fired("other", found(5, [80]))]
    results = OrderedResults(parts)
    assert results.last_time.tolist() == [80, 1, 2, 90]
    assert results.past is not None
    assert results.past.tolist() == [False, True, True, False]


def test_a_block_without_any_says_so_at_once() -> None:
    assert OrderedResults([Fired("other", found(5, [80])), Fired("more", found(5, [81]))]).past is None
    assert OrderedResults([]).past is None
