"""The state of a trend query under a wider schema: with more attributes, and kinds that have all earlier values.

Trends are counted in float64, in codes, or in pairs, so the numbers stay as they are. What changes is the place of
things in rows: an attribute of kind NUMBER has two words in a key, and a transition whose condition turns out to order
strings, or never to hold, has a list in place of a tree. What is in such a tree is of no more use: as long as one side
of the comparison was only null, nothing could follow, and nothing that was null then will be less than a string.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.key_words import Key, widened_words
from saffron.engine.trends.core import layout
from saffron.engine.trends.core.arrays import Ints
from saffron.engine.trends.ordered import code as ordered_code
from saffron.engine.trends.ordered import tree_pool
from saffron.engine.trends.queries.trend_query import TrendQuery
from saffron.language.plan.pairs import rest_of_name
from saffron.schema.computed import without_kind
from saffron.schema.schema import Kind

Arrays = dict[str, NDArray[Any]]
_OF_VERTICES = ("marks", "values", "counts", "count_scales", "count_extremes", "chosen")


def adopted(old: TrendQuery, fresh: TrendQuery) -> TrendQuery:
    """`fresh`, made for the same text under a wider schema, with all that `old` holds."""
    assert old.graphs.trees.keys() >= fresh.graphs.trees.keys(), "a list has become a tree"
    assert set(old.graphs.lists) <= set(fresh.graphs.lists), "a list has gone"
    state = dict(old.snapshot())
    roots = _roots(state["keys"], old)
    kinds = old.kinds, fresh.kinds
    key, group = (old.plan.key, fresh.plan.key), (old.plan.group, fresh.plan.group)
    state["keys"] = _places(_rows(state["keys"], *key, *kinds, words=1 + _width(old, old.plan.key)), old, fresh)
    state["groups"] = _rows(state["groups"], *group, *kinds, words=1 + _width(old, old.plan.group))
    words = np.ascontiguousarray(state["out"][:, layout.O_WORDS :].T)
    out = widened_words(words.astype(np.int64), *group, *kinds)
    state["out"] = np.ascontiguousarray(np.concatenate([state["out"][:, : layout.O_WORDS], out.T], axis=1), np.int64)
    state |= _vertices(state, old, fresh) if old.graphs.lists else _none(fresh, len(state["slots"]))
    _free_trees(roots, state, old, fresh)
    fresh.take_over(old, state)
    return fresh


def _width(query: TrendQuery, key: Sequence[str]) -> int:
    return sum(2 if query.kinds.get(name) is Kind.NUMBER else 1 for name in key)


def _rows(
    rows: NDArray[Any], old_key: Key, new_key: Key, old: Mapping[str, Kind], new: Mapping[str, Kind], *, words: int
) -> Ints:
    """Keys or groups under other words; `TrendQuery.take_over` computes their hashes."""
    held = np.ascontiguousarray(rows[:, 1:words].T, np.int64)
    renamed = widened_words(held, old_key, new_key, old, new)
    return np.ascontiguousarray(np.concatenate([rows[:, :1], renamed.T, rows[:, words:]], axis=1), np.int64)


def _places(keys: Ints, old: TrendQuery, fresh: TrendQuery) -> Ints:
    """Keys with the lists and trees of `fresh` behind what all keys have; what is new there is empty."""
    lists, trees = old.graphs.lists, list(old.graphs.trees)
    first = keys.shape[1] - layout.LIST_SIZE * len(lists) - len(trees)
    nothing = np.zeros((len(keys), layout.LIST_SIZE), np.int64)

    def of_list(s: int) -> Ints:
        at = first + layout.LIST_SIZE * lists.index(s) if s in lists else None
        return nothing if at is None else keys[:, at : at + layout.LIST_SIZE]

    roots = [_roots(keys, old)[:, [trees.index(t)]] for t in fresh.graphs.trees]
    return np.ascontiguousarray(np.concatenate([keys[:, :first], *map(of_list, fresh.graphs.lists), *roots], axis=1))


def _none(fresh: TrendQuery, windows: int) -> Arrays:
    """Room for the first vertices of lists, in so many slots."""
    return {name: array for name, array in fresh.empty(windows).items() if name in _OF_VERTICES}


def _vertices(state: Mapping[str, NDArray[Any]], old: TrendQuery, fresh: TrendQuery) -> Arrays:
    """Vertices with their attributes, and what waits for trees, where `fresh` looks for them."""
    values, marks = state["values"], state["marks"]
    known = {without_kind(name): row for row, (name, _) in enumerate(old.needs.attributes[: old.needs.stored])}
    found = np.full((fresh.needs.stored, values.shape[1]), np.nan)
    for row, (name, _) in enumerate(fresh.needs.attributes[: fresh.needs.stored]):
        whole = rest_of_name(name)
        if (same := without_kind(name)) in known:
            found[row] = values[known[same]]
        elif whole is not None and without_kind(whole) in known:
            found[row] = 0.0  # so far every number was a float64
    trees = list(old.graphs.trees)
    waiting = [trees.index(t) for t in fresh.graphs.trees] if old.plan.strict else []
    first = marks.shape[1] - (len(trees) if old.plan.strict else 0)
    return {
        "values": np.concatenate([found, values[[old.needs.stored + at for at in waiting]]]),
        "marks": np.ascontiguousarray(marks[:, [*range(first), *(first + at for at in waiting)]]),
    }


def _roots(keys: NDArray[Any], old: TrendQuery) -> NDArray[Any]:
    """[keys, trees] the roots of all trees."""
    return keys[:, keys.shape[1] - len(old.graphs.trees) :]


def _free_trees(roots: NDArray[Any], state: Mapping[str, NDArray[Any]], old: TrendQuery, fresh: TrendQuery) -> None:
    """Give back the nodes of trees that `fresh` does not have."""
    gone = [at for at, t in enumerate(old.graphs.trees) if t not in fresh.graphs.trees]
    if not gone or not fresh.graphs.trees:
        return
    index, free_root = tree_pool.index_of(state), ordered_code.plain(unlimited=old.plan.exact).free_root
    for root in roots[: state["head"][layout.KEYS], gone].ravel().tolist():
        free_root(root, index)
