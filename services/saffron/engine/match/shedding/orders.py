"""A drop order, read from its control record: the number of partial matches to keep, and the utility of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.models.transitions.ages import AGES

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class StateValues:
    """A value by state and by the events left of a window: row r of `values` [bins, states] holds for (r + 1) bins."""

    values: Floats
    bin_size: int

    def at(self, states: Ints, remaining: Floats) -> Floats:
        """[n] the values: linear between bins, from 0 below the first, the last one beyond (P3); 0 without bins."""
        bins = len(self.values)
        if not bins:
            return np.zeros(len(states))
        columns = np.minimum(states, self.values.shape[1] - 1)
        padded = np.concatenate([np.zeros((1, self.values.shape[1])), self.values])
        position = np.clip(remaining / self.bin_size, 0.0, bins)
        lower = np.minimum(position.astype(np.int64), bins - 1)
        below, above = padded[lower, columns], padded[lower + 1, columns]
        found: Floats = np.where(position >= bins, above, below + (position - lower) * (above - below))
        return found


@dataclass(frozen=True)
class Worth:
    """The part of a drop order that is about one query: the tables of its utility.

    `utility`: which partial matches go first, those of the least. `loss`: how many matches each of them would have
    made, as expected. `per_ms`: events expected in a ms, for windows in time. `random`: `utility` is a hash of `seed`
    and the run instead. `lift` [states, AGES]: factors of both by age (see `ages`); without rows none is known.
    """

    utility: StateValues
    loss: StateValues
    per_ms: float
    random: bool
    seed: int
    lift: Floats


@dataclass(frozen=True)
class Order:
    """A drop order: keep at most `keep` partial matches of all `queries` together.

    `exempt`: the share of those to drop that is retained by a draw of `seed`, to learn what the others would have made.
    `followed`: the share of all that is tracked, and so dropped last (see `tracked`). `evenly`: the share of those to
    drop that is drawn at random by `seed`; the others are those of the least utility.
    """

    keep: int
    queries: Mapping[str, Worth]
    exempt: float = 0.0
    seed: int = 0
    followed: float = 0.0
    evenly: float = 0.0


def read_order(body: Mapping[str, Any]) -> Order:
    """The order in the body of a "keep" record: {"n", "queries": {name: worth}}; or of one query {"query", "n", worth}.

    "exempt", drawn by "exempt_seed": the share of partial matches to retain. "followed": the share to track. "evenly":
    the share of those to drop that is drawn at random.

    A worth is {"utility": [bins][states], "loss": the same, "bin": events, "per_ms", "by": "utility" | "random",
    "seed", "lift": [states][ages]}. Without "loss" the utilities are the probabilities to complete; without either
    nothing is known.
    """
    queries = body.get("queries")
    if queries is None:
        queries = {str(body["query"]): body}
    worths = {str(name): _worth(one) for name, one in queries.items()}
    return Order(
        int(body["n"]),
        worths,
        float(body.get("exempt", 0.0)),
        int(body.get("exempt_seed", 0)),
        float(body.get("followed", 0)),
        float(body.get("evenly", 0)),
    )


def _worth(body: Mapping[str, Any]) -> Worth:
    bin_size = int(body.get("bin", 1))
    random = body.get("by") == "random"
    utility = _table(body.get("utility"), bin_size)
    loss = utility if body.get("loss") is None else _table(body["loss"], bin_size)
    lift = np.array(body["lift"], np.float64) if body.get("lift") else np.zeros((0, AGES))
    return Worth(utility, loss, float(body.get("per_ms", 0.0)), random, int(body.get("seed", 0)), lift)


def _table(rows: Sequence[Sequence[float]] | None, bin_size: int) -> StateValues:
    return StateValues(np.array(rows, np.float64) if rows else np.zeros((0, 1)), bin_size)
