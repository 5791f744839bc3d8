"""Latency, given the number of partial matches: the functions f and g of the overload detector (P7).

f(n) is the time of one event while n partial matches live. g(n) is the time of one shedding of them. Both are in ns.
Observations are kept as sums over bins of n, so that they add up exactly and stay small. The fit tries several shapes a
+ b * phi(n) by least squares. It takes the shape that best predicts bins that it has not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BINS_PER_OCTAVE = 16

Shape = Callable[[NDArray[np.float64]], NDArray[np.float64]]

SHAPES: dict[str, Shape] = {
    "constant": np.zeros_like,
    "log": np.log1p,
    "sqrt": np.sqrt,
    "linear": lambda n: n,
    "n log n": lambda n: n * np.log1p(n),
    "quadratic": lambda n: n * n,
}
"""phi(n) of each shape, all rising, so that the fitted function has an inverse. Simplest first: ties go to it."""


def bin_of(partial_matches: int) -> int:
    """The bin of a number of partial matches: 0 for none, then `BINS_PER_OCTAVE` bins for each doubling."""
    if partial_matches < 1:
        return 0
    return 1 + int(BINS_PER_OCTAVE * np.log2(partial_matches))


class LatencySamples:
    """The samples that a last hop has measured since its last message on `observations.latency`."""

    def __init__(self) -> None:
        self._sums: dict[str, dict[int, list[int]]] = {"processing": {}, "shedding": {}}

    def processed(self, partial_matches: int, events: int, nanoseconds: int) -> None:
        """`events` events took `nanoseconds` while `partial_matches` lived."""
        self._add("processing", partial_matches, events, nanoseconds)

    def shed(self, partial_matches: int, nanoseconds: int) -> None:
        """Record that a drop order took `nanoseconds` while `partial_matches` lived."""
        self._add("shedding", partial_matches, 1, nanoseconds)

    def drain(self) -> dict[str, list[list[int]]]:
        """{"processing": [[partial matches, events, nanoseconds], ...], "shedding": ...} since the last call.

        One sample for each bin; its partial matches are their mean.
        """
        drained = {
            function: [
                [(load + events // 2) // events, events, time] for _, (events, load, time) in sorted(bins.items())
            ]
            for function, bins in self._sums.items()
        }
        self._sums = {"processing": {}, "shedding": {}}
        return drained

    def _add(self, function: str, partial_matches: int, events: int, nanoseconds: int) -> None:
        if events < 1:
            return
        sums = self._sums[function].setdefault(bin_of(partial_matches), [0, 0, 0])
        sums[0] += events
        sums[1] += events * partial_matches
        sums[2] += nanoseconds


@dataclass(frozen=True)
class LatencyFunction:
    """The fitted latency: offset + slope * phi(n) ns, where `shape` names phi in `SHAPES`; slope >= 0.

    `error`: ns, see `fit`.
    """

    shape: str
    offset: float
    slope: float
    error: float

    def __call__(self, partial_matches: float) -> float:
        """Latency in ns at a number of partial matches."""
        phi = SHAPES[self.shape](np.array([max(0.0, partial_matches)]))
        return max(0.0, self.offset + self.slope * float(phi[0]))


def fit(sums: Sequence[Sequence[int]]) -> LatencyFunction | None:
    """The best function through bins given as (events, load, nanoseconds); None without any events.

    Each bin is a point (load / events, nanoseconds / events) that weighs as many events as it holds. A shape's error is
    the weighted root mean square of leave-one-out residuals: each bin is predicted from all others.

    If every bin has more than half of the mean n, the cost of an event without partial matches is unknown. All time is
    then assigned to partial matches, so that f has an inverse. Measurements after a drop correct it (`Speed`).
    """
    table = np.array([row for row in sums if row[0] > 0], dtype=np.float64).reshape(-1, 3)
    if len(table) == 0:
        return None
    weight = table[:, 0] / table[:, 0].sum()
    n = table[:, 1] / table[:, 0]
    latency = table[:, 2] / table[:, 0]
    mean = float(weight @ n)
    if mean > 0 and n.min() > mean / 2:
        slope = float(weight @ latency) / mean
        return LatencyFunction("linear", 0.0, slope, float(np.sqrt(weight @ (latency - slope * n) ** 2)))
    candidates = [_fit_shape(name, n, latency, weight) for name in SHAPES]
    return min((c for c in candidates if c is not None), key=lambda candidate: candidate.error)


def _fit_shape(
    name: str, n: NDArray[np.float64], latency: NDArray[np.float64], weight: NDArray[np.float64]
) -> LatencyFunction | None:
    """Weighted least squares of one shape; None if the bins cannot tell (too few) or it would fall with n."""
    phi = SHAPES[name](n)
    mean_phi, mean = float(weight @ phi), float(weight @ latency)
    spread = float(weight @ (phi - mean_phi) ** 2)
    if name == "constant":
        slope, leverage = 0.0, weight
    else:
        if len(n) < 3 or spread <= 1e-12 * max(1.0, mean_phi**2):
            return None
        slope = float(weight @ ((phi - mean_phi) * (latency - mean))) / spread
        leverage = weight * (1.0 + (phi - mean_phi) ** 2 / spread)
        if slope < 0:
            return None
    residual = latency - (mean + slope * (phi - mean_phi))
    left_out = residual / np.maximum(1.0 - leverage, 1e-9)
    error = float(np.sqrt(weight @ left_out**2))
    return LatencyFunction(name, mean - slope * mean_phi, slope, error)
