"""The state of a query's runs as flat arrays, and back."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from saffron.engine.match.core.kernel_layout import FOUND, NODE, NODE_TAIL
from saffron.engine.match.core.keys import Keys
from saffron.engine.match.core.nodes import Nodes
from saffron.engine.match.core.rows import Rows
from saffron.engine.match.runs.query_runs import QueryRuns

Array = NDArray[np.generic]


def save(runs: QueryRuns) -> dict[str, Array]:
    """Everything that decides further results; the matches of the last block are not among it."""
    tail, head = int(runs.counters[NODE_TAIL]), int(runs.counters[NODE])
    arrays: dict[str, Array] = {
        "counters": runs.counters.copy(),
        "progress": np.array([runs.ordinal, runs.clock, runs.swept], np.int64),
        "touched": runs.touched.copy(),
        "reached": runs.reached.copy(),
        "openers": runs.windows.openers.copy(),
    }
    if runs.timeouts is not None:
        arrays["continued"] = runs.timeouts.saved(runs.rows.tail)
    parts: dict[str, Mapping[str, Array]] = {
        "rows": runs.rows.arrays(),
        "nodes": runs.nodes.live(tail, head),
        "keys": {name: array.copy() for name, array in runs.keys.arrays().items()},
        "choice": runs.choice.saved(runs.rows.tail),
        **{f"pool{index}": pool.saved() for index, pool in enumerate(runs.pools)},
    }
    return arrays | {f"{part}.{name}": array for part, held in parts.items() for name, array in held.items()}


def restore(runs: QueryRuns, arrays: Mapping[str, Array]) -> None:
    """Take over what `save` gave, into runs of the same program."""

    def part(name: str) -> dict[str, Array]:
        prefix = f"{name}."
        return {key[len(prefix) :]: array for key, array in arrays.items() if key.startswith(prefix)}

    runs.counters = np.array(arrays["counters"], np.int64)
    runs.counters[FOUND] = 0
    runs.ordinal, runs.clock, runs.swept = (int(value) for value in arrays["progress"])
    runs.expired.forget(runs.ordinal)
    runs.touched = np.array(arrays["touched"], np.int64)
    runs.reached = np.array(arrays["reached"], np.int64)
    runs.windows.openers = np.array(arrays["openers"], np.int64)
    runs.rows = Rows.restored(part("rows"))
    runs.nodes = Nodes.restored(part("nodes"), int(runs.counters[NODE_TAIL]), int(runs.counters[NODE]))
    if runs.timeouts is not None:
        runs.timeouts.restore(np.asarray(arrays["continued"], np.int64))
    runs.choice.restore(part("choice"))
    runs.keys = Keys.restored(part("keys"))
    for index, pool in enumerate(runs.pools):
        pool.restore(part(f"pool{index}"))
