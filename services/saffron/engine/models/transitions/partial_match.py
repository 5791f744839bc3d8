"""The utility of partial matches: the tables UT_q of pSPICE (papers P5), over all queries together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from saffron.engine.models.transitions.markov import Matrix
from saffron.engine.models.transitions.model import TransitionModel

LEAST_TIME = 0.01
"""The least tau, as a share of its mean: a partial match that costs next to nothing saves nothing by being dropped."""


@dataclass(frozen=True)
class PartialMatchModel:
    """The utility of one query's partial matches (P5).

    `utility` [bins, m]: UT_q. `loss` [bins, m]: matches lost by dropping such a partial match. Row k is for (k + 1) *
    `bin_size` events left of the window; state 0 has nothing bound. `per_ms`: events for each ms left of a window in
    time; 0 for windows in events. `lift` [m, AGES]: factors of both by age; no rows: no factors. Utilities are
    comparable between queries that were scaled together.
    """

    query: str
    bin_size: int
    per_ms: float
    utility: Matrix
    loss: Matrix
    lift: Matrix

    def body(self) -> dict[str, Any]:
        """The body of a drop order for this query."""
        return {
            "utility": self.utility.tolist(),
            "loss": self.loss.tolist(),
            "bin": self.bin_size,
            "per_ms": self.per_ms,
            "lift": _short(self.lift),
        }


def partial_match_models(
    models: Sequence[TransitionModel], weights: Mapping[str, float] | None = None
) -> dict[str, PartialMatchModel]:
    """The model of utility of each query: U = w * P / tau (P5), or w * P where no times were measured.

    P is the expected number of matches where runs split. P and tau are brought to one scale by their means over all
    states of all `models`. There each state weighs what its runs met. `weights`: by query, 1 where none is given.
    """
    scale = _mean(models, [model.expected for model in models])
    measured = [model for model in models if len(model.remaining_ns)]
    mean_time = _mean(measured, [model.remaining_ns for model in measured])
    found = {}
    for model in models:
        worth = model.expected / scale * (weights or {}).get(model.query, 1.0)
        if len(model.remaining_ns):
            worth = worth / np.maximum(model.remaining_ns / mean_time, LEAST_TIME)
        found[model.query] = PartialMatchModel(
            model.query, model.bin_size, model.per_ms, worth, model.expected, model.lift
        )
    return found


def _short(factors: Matrix) -> list[list[float]]:
    """Numbers rounded to four digits, since they travel in every drop order."""
    return [[float(f"{factor:.4g}") for factor in row] for row in factors.tolist()]


def _mean(models: Sequence[TransitionModel], tables: Sequence[Matrix]) -> float:
    """The mean of tables over bins and states of partial matches, weighted by events met; 1 without any."""
    total, weight = 0.0, 0.0
    for model, table in zip(models, tables, strict=True):
        met = np.array(model.met, dtype=np.float64)
        met[[0, -1]] = 0.0
        total += float(table.mean(axis=0) @ met)
        weight += float(met.sum())
    return total / weight if total > 0 else 1.0
