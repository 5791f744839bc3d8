"""A column of rows that marks first events of matches: a partial match with such a first event may match again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saffron.engine.match.core.rows import SEQ, Rows
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pattern import Strategy

Ints = NDArray[np.int64]

MATCHED = "#matched"
"""The column's name: int64, the position of the row's event if a match begins with it. It exists after the first match.

Rows are reused: a stale value is the position of an earlier event, and so differs from the row's own.
"""


def may_match_again(plan: MatchPlan) -> bool:
    """True if a flat plan can find several matches with one first event."""
    ways = {plan.strategy, *plan.begins, *plan.continues}
    return Strategy.ANY in ways or any(component.closure for component in plan.components)


def mark(rows: Rows, first: Ints) -> None:
    """Record that matches were found that begin with these rows."""
    if not len(first):
        return
    if MATCHED not in rows.columns:
        rows.add(MATCHED, np.dtype(np.int64), -1)
    places = first & rows.mask
    rows.columns[MATCHED][places] = rows.columns[SEQ][places]


def have_matched(rows: Rows, first: Ints) -> NDArray[np.bool_]:
    """[n] whether a match begins with each of these rows."""
    if MATCHED not in rows.columns:
        return np.zeros(len(first), np.bool_)
    places = first & rows.mask
    found: NDArray[np.bool_] = rows.columns[MATCHED][places] == rows.columns[SEQ][places]
    return found
