"""What a transition takes, from block times (papers P2): a step is shorter than reading a clock, so it is fitted.

Each message of `observations.transitions` is a sample: how often each transition happened, and the nanoseconds that
all of them took together. Non-negative least squares over many samples tells the transitions apart. Only sums of
products are kept (the normal equations): integers that add up in any order, so that Spark may add them too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

Cell = tuple[int, int]

_RIDGE = 1e-4
"""Weight of the mean time, against columns of unit length: what the samples cannot tell apart costs the same."""


@dataclass
class TransitionCosts:
    """Sums over samples. `products`: cells (c, d), c <= d -> sum of count(c) * count(d).

    `moments`: c -> sum of count(c) * nanoseconds. `counts`, `nanoseconds`: plain sums.
    """

    samples: int = 0
    nanoseconds: int = 0
    counts: dict[Cell, int] = field(default_factory=dict)
    moments: dict[Cell, int] = field(default_factory=dict)
    products: dict[tuple[Cell, Cell], int] = field(default_factory=dict)

    def add(self, counts: Mapping[Cell, int], nanoseconds: int) -> None:
        """One sample; without a time or counts it says nothing."""
        cells = sorted(cell for cell, count in counts.items() if count > 0)
        if nanoseconds <= 0 or not cells:
            return
        self.samples += 1
        self.nanoseconds += nanoseconds
        for place, cell in enumerate(cells):
            count = counts[cell]
            self.counts[cell] = self.counts.get(cell, 0) + count
            self.moments[cell] = self.moments.get(cell, 0) + count * nanoseconds
            for other in cells[place:]:
                pair = cell, other
                self.products[pair] = self.products.get(pair, 0) + count * counts[other]

    def halve(self) -> None:
        """Forget half of everything."""
        self.samples //= 2
        self.nanoseconds //= 2
        for sums in (self.counts, self.moments):
            for cell in sums:
                sums[cell] //= 2
        self.products = {pair: total // 2 for pair, total in self.products.items()}

    def fit(self) -> dict[Cell, float]:
        """Nanoseconds of one transition, none below 0, of those that were counted; empty without a sample.

        min |X c - t|^2 + ridge * |D (c - mean)|^2, c >= 0, D being the lengths of X's columns.
        """
        cells = sorted(cell for cell, count in self.counts.items() if count > 0)
        if not cells or self.nanoseconds <= 0:
            return {}
        from scipy.linalg import cholesky, solve_triangular
        from scipy.optimize import nnls

        length = np.sqrt([float(self.products[cell, cell]) for cell in cells])
        gram = np.array([[float(self._product(one, other)) for other in cells] for one in cells])
        gram /= np.outer(length, length)
        mean = self.nanoseconds / sum(self.counts.values())
        target = np.array([float(self.moments[cell]) for cell in cells]) / length + _RIDGE * mean * length
        root = cholesky(gram + _RIDGE * np.eye(len(cells)))
        scaled, _ = nnls(root, solve_triangular(root, target, trans="T"))
        return dict(zip(cells, (scaled / length).tolist(), strict=True))

    def _product(self, one: Cell, other: Cell) -> int:
        return self.products.get((min(one, other), max(one, other)), 0)
