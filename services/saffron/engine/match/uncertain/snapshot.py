"""The state of a query over imprecise time as flat arrays, and back."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from saffron.engine.match.core.keys import Keys
from saffron.engine.match.core.rows import Rows
from saffron.engine.match.uncertain.runs import UncertainRuns
from saffron.engine.match.uncertain.table import LONGEST, LONGEST_ROW

Array = NDArray[np.generic]


def save(runs: UncertainRuns) -> dict[str, Array]:
    """Everything that decides further results; the matches of the last block are not among it."""
    kept = np.arange(runs.rows.tail, runs.rows.head) & runs.rows.mask
    counters = runs.work.counters
    return {
        "longest": counters[[LONGEST, LONGEST_ROW]],
        "touched": runs.touched.copy(),
        "heads": runs.work.heads.copy(),
        "links": np.ascontiguousarray(runs.work.links[:, kept]),
        **{f"rows.{name}": array for name, array in runs.rows.arrays().items()},
        **{f"keys.{name}": array.copy() for name, array in runs.keys.arrays().items()},
    }


def restore(runs: UncertainRuns, arrays: Mapping[str, Array]) -> None:
    """Take over what `save` gave, into runs of the same program."""

    def part(prefix: str) -> dict[str, Array]:
        return {name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)}

    runs.rows = Rows.restored(part("rows."))
    runs.keys = Keys.restored(part("keys."))
    runs.touched = np.array(arrays["touched"], np.int64)
    links = np.full((len(runs.plan.components), runs.rows.capacity), -1, np.int64)
    links[:, np.arange(runs.rows.tail, runs.rows.head) & runs.rows.mask] = arrays["links"]
    runs.work = runs.work._replace(
        heads=np.array(arrays["heads"], np.int64, order="C"),
        links=links,
        used=np.zeros(runs.rows.capacity, np.int8),
        hashes=np.zeros((len(runs.program.joins.by), 0), np.int64),  # found anew with the next events
    )
    runs.work.counters[:] = 0
    runs.work.counters[[LONGEST, LONGEST_ROW]] = arrays["longest"]
