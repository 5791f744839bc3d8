"""The state of a trend query under a wider schema: with more attributes, and kinds that have all earlier values.

Trends are counted in float64, in codes, or in pairs, so most of the state stays as it is. State that orders vertices by
a number of another form cannot be kept; then `adopt` is False, and the query begins anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.key_words import widened_words
from saffron.engine.trends.core import layout
from saffron.engine.trends.core.arrays import Floats, Ints, Wiring
from saffron.engine.trends.queries.trend_query import TrendQuery
from saffron.language.plan.pairs import rest_of_name
from saffron.schema.schema import Kind

_WIDTHS = [layout.KEY_WIDTH, layout.GROUP_WIDTH, layout.STORED]


def adopt(old: TrendQuery, fresh: TrendQuery) -> bool:
    """Let `fresh`, made for the same text under a wider schema, go on with all that `old` holds; False: it cannot."""
    if not _alike(old.wiring, fresh.wiring) or old.needs.strings != fresh.needs.strings:
        return False
    state = dict(old.snapshot())
    kinds = old.kinds, fresh.kinds
    for rows, key in (("keys", old.plan.key), ("groups", old.plan.group)):
        state[rows] = _rows(state[rows], key, *kinds, words=1 + _width(old, key))
    words = np.ascontiguousarray(state["out"][:, layout.O_WORDS :].T)
    out = widened_words(words.astype(np.int64), old.plan.group, *kinds)
    state["out"] = np.ascontiguousarray(np.concatenate([state["out"][:, : layout.O_WORDS], out.T], axis=1), np.int64)
    state["values"] = _values(state["values"], old, fresh)
    fresh.take_over(old, state)
    return True


def _alike(old: Wiring, fresh: Wiring) -> bool:
    """True if the two go the same ways, whatever the widths of keys and the places of attributes."""
    params = (np.delete(wiring.params, _WIDTHS) for wiring in (old, fresh))
    same = (old.states, fresh.states), (old.transitions, fresh.transitions), (old.feeds, fresh.feeds)
    others = (old.barriers, fresh.barriers), (old.measured, fresh.measured)
    trees = tuple(np.delete(wiring.trees, layout.T_COLUMN, axis=1) for wiring in (old, fresh))
    return all(np.array_equal(a, b) for a, b in (tuple(params), *same, *others, trees))


def _width(query: TrendQuery, key: Sequence[str]) -> int:
    return sum(2 if query.kinds.get(name) is Kind.NUMBER else 1 for name in key)


def _rows(
    rows: NDArray[Any], key: Sequence[str], old: Mapping[str, Kind], new: Mapping[str, Kind], *, words: int
) -> Ints:
    """Keys or groups under other words; `TrendQuery.take_over` computes their hashes."""
    held = np.ascontiguousarray(rows[:, 1:words].T, np.int64)
    renamed = widened_words(held, key, old, new)
    return np.ascontiguousarray(np.concatenate([rows[:, :1], renamed.T, rows[:, words:]], axis=1), np.int64)


def _values(values: NDArray[Any], old: TrendQuery, fresh: TrendQuery) -> Floats:
    """[stored attributes and, behind them, what waits for the trees; vertices]: each where `fresh` looks for it."""
    known = {name: row for row, (name, _) in enumerate(old.needs.attributes[: old.needs.stored])}
    found = np.full((fresh.needs.stored, values.shape[1]), np.nan)
    for row, (name, _) in enumerate(fresh.needs.attributes[: fresh.needs.stored]):
        whole = rest_of_name(name)
        if name in known:
            found[row] = values[known[name]]
        elif whole in known:
            found[row] = 0.0  # so far every number was a float64
    return np.concatenate([found, values[old.needs.stored :]])
