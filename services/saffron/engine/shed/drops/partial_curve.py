"""The loss of dropping partial matches by the processing time that it saves, by the model alone (P3-P5).

A partial match begins in state 1 with its whole window before it and walks the Markov chain. An order drops it when its
utility first falls to a threshold. The loss is the matches that it would still have made, the saving the time that it
would still have cost. The curve runs over all thresholds; means of shedding are compared by it.

Where ages (`ages`) distinguish partial matches, the chain alone promises too much loss: those that have waited long go
first, and hardly any of them would have matched. There the curve is over the partial matches alive at any time, by
number of each age, the least useful first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saffron.engine.models.transitions.ages import A_BIN, by_left
from saffron.engine.models.transitions.markov import Matrix, remaining_time_table
from saffron.engine.models.transitions.model import TransitionModel

Floats = NDArray[np.float64]

_THRESHOLDS = 33
"""Quantiles of utility that are points of the curve; each takes a walk over all bins of the window."""


@dataclass(frozen=True)
class PartialCurve:
    """The savings and losses of dropping a query's partial matches.

    `saved`, `lost` [t], rising from 0 to 1: shares of the query's processing time and of its matches.
    """

    saved: Floats
    lost: Floats

    @classmethod
    def of(cls, saved: Floats, lost: Floats, time: float, matches: float) -> PartialCurve:
        """The curve through points of time `saved` and matches `lost`, as shares of all `time` and all `matches`."""
        shares = (sums / whole if whole > 0 else np.ones_like(sums) for sums, whole in ((saved, time), (lost, matches)))
        rising = (np.maximum.accumulate(np.clip(np.concatenate([[0.0], one, [1.0]]), 0.0, 1.0)) for one in shares)
        return cls(*rising)

    def at(self, saved: float) -> float:
        """The share of matches lost where this share of the time is saved."""
        return float(np.interp(saved, self.saved, self.lost))


def partial_curve(model: TransitionModel, utility: Matrix) -> PartialCurve:
    """The loss curve of dropping partial matches of one query in ascending order of `utility` [bins, states]."""
    times = model.remaining_ns if len(model.remaining_ns) else _events_met(model)
    by_ages = len(model.lift) and model.seen.any()
    return _at_once(model, utility, times) if by_ages else _in_time(model, utility, times)


def _at_once(model: TransitionModel, utility: Matrix, times: Matrix) -> PartialCurve:
    """The curve if the least useful of the partial matches alive now are dropped at once."""
    worth, cost, matches = (
        np.repeat(by_left(table, model.bin_size, model.expected_events).T, A_BIN, axis=1)
        for table in (utility, times, model.expected)
    )
    order = np.argsort(worth * model.lift, axis=None, kind="stable")
    saved = np.cumsum((model.seen * cost).reshape(-1)[order])
    lost = np.cumsum((model.seen * matches * model.lift).reshape(-1)[order])
    return PartialCurve.of(saved, lost, float(saved[-1]), float(lost[-1]))


def _in_time(model: TransitionModel, utility: Matrix, times: Matrix) -> PartialCurve:
    """The curve if each partial match is dropped once its utility is low enough, by the Markov chain."""
    inner = utility[:, 1:-1]
    levels = np.unique(np.quantile(inner, np.linspace(0, 1, _THRESHOLDS))) if inner.size else np.zeros(0)
    step = np.linalg.matrix_power(model.matrix, model.bin_size)
    points = [_dropped(model, utility <= level, step, times) for level in levels.tolist()]
    saved, lost = np.array(points).reshape(-1, 2).T
    return PartialCurve.of(saved, lost, float(times[-1, 1]), float(model.expected[-1, 1]))


def _dropped(model: TransitionModel, low: NDArray[np.bool_], step: Matrix, times: Matrix) -> tuple[float, float]:
    """Time saved and matches lost of a partial match, on average, where those that are `low` [bins, m] are dropped."""
    bins = len(low)
    alive = np.zeros(model.states)
    alive[min(1, model.states - 1)] = 1.0
    saved = lost = 0.0
    for left in range(bins - 1, -1, -1):
        gone = np.where(low[left], alive, 0.0)
        gone[[0, -1]] = 0.0
        saved += float(gone @ times[left])
        lost += float(gone @ model.expected[left])
        alive = (alive - gone) @ step
        alive[-1] = 0.0
    return saved, lost


def _events_met(model: TransitionModel) -> Matrix:
    """The remaining events of partial matches, which replace remaining times where none were measured."""
    return remaining_time_table(model.matrix, np.ones(model.states), model.bin_size, len(model.completion))
