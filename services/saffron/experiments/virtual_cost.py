"""The cost of a block on the virtual clock: ns as a function of counts that the engines report.

The counts of a block and a query:

- `kept`: events that were not dropped for the query.
- `met`: partial matches met by them (`kept` times the mean of those alive before and behind the block), and the checks
  of the query's shadow.
- `found`: results.

A cost is stated (ns for each event kept and each partial match met), or fitted to measured times by non-negative least
squares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from saffron.distribution import install
from saffron.errors import InputError

Floats = NDArray[np.float64]

ORDER_NS = 60.0
"""A partial match looked at by an order to drop some (measured: tens of ns each, by partition)."""
MASK_NS = 8.0
"""An event whose utility is looked up and compared."""


@dataclass(frozen=True)
class Work:
    """The counts of one block: `events` of it, and by query `kept`, `met`, `found`. `ordered`: partial matches that
    orders to drop looked at; `judged`: events that were judged one by one."""

    events: int
    kept: Mapping[str, int]
    met: Mapping[str, float]
    found: Mapping[str, int]
    ordered: int = 0
    judged: int = 0

    @property
    def shedding_ns(self) -> float:
        """The ns that shedding itself takes."""
        return ORDER_NS * self.ordered + MASK_NS * self.judged


class Cost(Protocol):
    """A function from counts to ns, without shedding."""

    def of(self, work: Work) -> Mapping[str, float]:
        """The cost in ns by query; "" has the cost of none."""


@dataclass(frozen=True)
class StatedCost:
    """A stated cost of checks.

    `each`: ns of a check, by query: one for each event kept, one for each partial match it meets.
    """

    each: Mapping[str, float]

    def of(self, work: Work) -> Mapping[str, float]:
        return {name: self.each[name] * (work.kept[name] + work.met[name]) for name in work.kept}


@dataclass(frozen=True)
class FittedCost:
    """Coefficients in ns: of a block, of an event, and by query of an event kept, a partial match met, a result."""

    block: float
    event: float
    queries: Mapping[str, tuple[float, float, float]]

    def of(self, work: Work) -> Mapping[str, float]:
        costs = {"": self.block + self.event * work.events}
        for name, (kept, met, found) in self.queries.items():
            costs[name] = kept * work.kept[name] + met * work.met[name] + found * work.found[name]
        return costs


def fit(samples: Sequence[tuple[Work, float]]) -> FittedCost:
    """The coefficients that explain measured ns of blocks best; all of them 0 or more.

    Twice: what lies furthest off the first time (a pause of the machine, a first call) is left out the second.
    """
    names = list(samples[0][0].kept)
    table = np.array([_row(work, names) for work, _ in samples])
    measured = np.array([nanoseconds for _, nanoseconds in samples])
    found = _solve(table, measured)
    off = np.abs(table @ found - measured)
    near = off <= max(np.quantile(off, 0.9), 1.0)
    found = _solve(table[near], measured[near])
    own = {
        name: (float(a), float(b), float(c)) for name, (a, b, c) in zip(names, found[2:].reshape(-1, 3), strict=True)
    }
    return FittedCost(float(found[0]), float(found[1]), own)


def _row(work: Work, names: Sequence[str]) -> list[float]:
    own = ((work.kept[name], work.met[name], work.found[name]) for name in names)
    return [1.0, float(work.events), *(float(value) for counts in own for value in counts)]


def _solve(table: Floats, measured: Floats) -> Floats:
    """Scale the columns and solve; a small ridge keeps collinear columns together."""
    try:
        from scipy.optimize import nnls
    except ImportError as error:
        message = f"costs are fitted with scipy: {install('model-builder')}, or state a cost (--cost NS)"
        raise InputError(message) from error
    scale = np.maximum(np.sqrt((table**2).mean(axis=0)), 1e-12)
    ridge = 1e-3 * np.sqrt(len(table)) * np.eye(table.shape[1])
    found, _ = nnls(np.vstack([table / scale, ridge]), np.concatenate([measured, np.zeros(table.shape[1])]))
    coefficients: Floats = found / scale
    return coefficients
