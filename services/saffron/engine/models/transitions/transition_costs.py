"""The time of a transition, fitted to block times (papers P2): one step is shorter than reading a clock.

Each message of `observations.transitions` is a sample: how often each transition happened, and the nanoseconds that
all of them took together. Non-negative least squares over many samples tells the transitions apart. Only sums of
products are kept (the normal equations): integers that add up in any order, so that Spark may add them too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

Cell = tuple[int, int]

MOST_CELLS = 128
"""The most transitions of a sample with costs of their own (products: its square). Others cost the mean."""
_RIDGE = 1e-4
"""The weight of the mean time, against columns of unit length: indistinguishable transitions cost the same."""


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
        """Add one sample; it is ignored without a time or counts."""
        cells = sorted(cell for cell, count in counts.items() if count > 0)
        if nanoseconds <= 0 or not cells:
            return
        self.add_samples(1, nanoseconds)
        for place, cell in enumerate(cells):
            self.add_moment(cell, counts[cell], counts[cell] * nanoseconds)
            for other in cells[place:] if len(cells) <= MOST_CELLS else ():
                self.add_product(cell, other, counts[cell] * counts[other])

    def add_samples(self, samples: int, nanoseconds: int) -> None:
        """Sums of samples, whose other sums are added too."""
        self.samples += samples
        self.nanoseconds += nanoseconds

    def add_moment(self, cell: Cell, count: int, moment: int) -> None:
        """Add to a transition's sums over samples: of its count, and of count * nanoseconds."""
        self.counts[cell] = self.counts.get(cell, 0) + count
        self.moments[cell] = self.moments.get(cell, 0) + moment

    def add_product(self, one: Cell, other: Cell, total: int) -> None:
        """Add to the sum over samples of the product of two transitions' counts; one <= other."""
        self.products[one, other] = self.products.get((one, other), 0) + total

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
        counted = sorted(cell for cell, count in self.counts.items() if count > 0)
        if not counted or self.nanoseconds <= 0:
            return {}
        mean = self.nanoseconds / sum(self.counts.values())
        cells = [cell for cell in counted if self._product(cell, cell) > 0]
        return dict.fromkeys(counted, mean) | (self._fitted(cells, mean) if cells else {})

    def _fitted(self, cells: Sequence[Cell], mean: float) -> dict[Cell, float]:
        """Nanoseconds of one transition, by the least squares of `fit`. `mean`: ns of one over all transitions.

        `cells`: at least one, each with a product of its own that is not 0.
        """
        from scipy.optimize import nnls

        length = np.sqrt([float(self._product(cell, cell)) for cell in cells])
        gram = np.array([[float(self._product(one, other)) for other in cells] for one in cells])
        gram /= np.outer(length, length)
        moments = np.array([float(self.moments.get(cell, 0)) for cell in cells])
        target = moments / length + _RIDGE * mean * length
        # halved sums are no exact sums of squares: values below 0 are rounding errors
        values, vectors = np.linalg.eigh(gram)
        root = np.sqrt(np.maximum(values, 0.0) + _RIDGE)
        scaled, _ = nnls(root[:, None] * vectors.T, (vectors.T @ target) / root)
        return dict(zip(cells, (scaled / length).tolist(), strict=True))

    def _product(self, one: Cell, other: Cell) -> int:
        return self.products.get((min(one, other), max(one, other)), 0)
