"""Decision trees over binned features as flat arrays (gSPICE-M, papers G5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.jit import kernel
from saffron.engine.kernels.numba_types import float64, int16, int32, void

Floats = NDArray[np.float64]
Vectors = NDArray[np.int16]
LEAF = -1
MOST_DEPTH = 16
"""The greatest depth of a tree: it bounds the time of a prediction."""
MOST_ROWS = 20_000
"""The approximate number of rows from which each tree of a forest is sampled: it bounds the time of training."""
LEAST_EVENTS = 8
"""The least weight of a leaf, in events: smaller leaves fit noise."""
TREES = 10
"""Trees of a forest, as in the paper."""


@dataclass(frozen=True)
class Forest:
    """A forest of decision trees; its prediction is the mean of the trees' predictions.

    `nodes`: int32 [nodes, 4], the field tested (LEAF: none), the greatest value that goes left, and both successors.
    `values`: float64 [nodes], the prediction of a leaf. `roots`: int32 [trees].
    """

    nodes: NDArray[np.int32]
    values: Floats
    roots: NDArray[np.int32]

    def utilities(self, vectors: Vectors) -> Floats:
        """float64 [n]: predictions for int16 [n, d]."""
        found = np.empty(len(vectors))
        predict(np.ascontiguousarray(vectors), self.nodes, self.values, self.roots, found)
        return found

    def fits(self, fields: int) -> bool:
        """True if every path from a root ends in a leaf, and every node tests one of `fields` features."""
        count, inner = len(self.nodes), self.nodes[:, 0] != LEAF
        asked, after = self.nodes[inner, 0], self.nodes[inner, 2:]
        falls = (after > np.flatnonzero(inner)[:, None]) & (after < count)
        roots = len(self.roots) > 0 and bool(((self.roots >= 0) & (self.roots < count)).all())
        return roots and len(self.values) == count and bool(falls.all() and ((asked >= 0) & (asked < fields)).all())


def train_tree(vectors: Vectors, utility: Floats, weight: Floats, seed: int) -> Forest:
    """One decision tree (scikit-learn's DecisionTreeRegressor) by weighted squared error."""
    from sklearn.tree import DecisionTreeRegressor

    tree = DecisionTreeRegressor(**_grown(weight, seed))
    return _flat([tree.fit(vectors, utility, sample_weight=weight)])


def train_forest(vectors: Vectors, utility: Floats, weight: Floats, seed: int) -> Forest:
    """A forest of ten trees, each fitted to a bootstrap sample of events (see `copied`), not of distinct vectors."""
    return _flat(trees_of_samples(vectors, utility, weight, seed))


def trees_of_samples(vectors: Vectors, utility: Floats, weight: Floats, seed: int) -> list[Any]:
    """scikit-learn's trees of a forest, equal to those of its RandomForestRegressor on the rows of `copied`.

    A row drawn several times is passed once, with a weight, which saves time.
    """
    from sklearn.tree import DecisionTreeRegressor

    rows, each = copied(weight)
    grown = _grown(weight, seed)
    draw = np.random.RandomState(seed % (1 << 32))
    trees = []
    for own in (draw.randint(np.iinfo(np.int32).max) for _ in range(TREES)):
        drawn = rows[np.random.RandomState(own).randint(0, len(rows), len(rows), dtype=np.int32)]
        weights = np.bincount(drawn, minlength=len(weight)) * each
        some = np.flatnonzero(weights)
        tree = DecisionTreeRegressor(**{**grown, "random_state": own})
        trees.append(tree.fit(vectors[some], utility[some], sample_weight=weights[some]))
    return trees


def copied(weight: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Row indices, each repeated by its weight, about `MOST_ROWS` in all; and the weight of one copy [rows].

    A bootstrap sample of copies leaves out rare vectors only, as a sample of events would. A sample of distinct vectors
    would leave out a third of them.
    """
    copies = np.maximum(1, np.round(weight * min(1.0, MOST_ROWS / weight.sum()))).astype(np.int64)
    rows = np.repeat(np.arange(len(weight)), copies)
    return rows, weight / copies


def _grown(weight: Floats, seed: int) -> dict[str, Any]:
    """scikit-learn's settings of a tree: depth, least weight of a leaf (`LEAST_EVENTS` as a share), seed."""
    least = min(0.5, LEAST_EVENTS / float(weight.sum()))
    return {"max_depth": MOST_DEPTH, "min_weight_fraction_leaf": least, "random_state": seed % (1 << 32)}


def _flat(trees: list[Any]) -> Forest:
    """A `Forest` from scikit-learn's trees. Features are integers, so thresholds may be rounded down."""
    nodes, values, roots, base = [], [], [], 0
    for tree in (one.tree_ for one in trees):
        inner = tree.children_left >= 0
        table = np.full((tree.node_count, 4), LEAF, dtype=np.int32)
        table[inner, 0] = tree.feature[inner]
        table[inner, 1] = np.floor(tree.threshold[inner])
        table[inner, 2] = tree.children_left[inner] + base
        table[inner, 3] = tree.children_right[inner] + base
        nodes.append(table)
        values.append(tree.value[:, 0, 0])
        roots.append(base)
        base += tree.node_count
    return Forest(np.concatenate(nodes), np.concatenate(values).astype(np.float64), np.array(roots, dtype=np.int32))


@kernel(void(int16[:, ::1], int32[:, ::1], float64[::1], int32[::1], float64[::1]), _nrt=False)
def predict(vectors, nodes, values, roots, found):  # type: ignore[no-untyped-def]
    """Write the mean prediction of all trees for each vector into `found`.

    Trees are summed in scikit-learn's order, so that both give the same bits.
    """
    for i in range(len(vectors)):
        total = 0.0
        for root in roots:
            at = root
            while nodes[at, 0] >= 0:
                at = nodes[at, 2] if vectors[i, nodes[at, 0]] <= nodes[at, 1] else nodes[at, 3]
            total += values[at]
        found[i] = total / len(roots)
