"""Ring buffers: element i of an endless sequence stands at place i & (size - 1); sizes are powers of two."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def copy_ring(old: NDArray[Any], new: NDArray[Any], tail: int, head: int) -> None:
    """Copy elements [tail, head) from one ring to another of any size, a slice at a time."""
    shorter = min(len(old), len(new))
    while tail < head:
        stop = min(head, (tail | (shorter - 1)) + 1)
        source, target = tail & (len(old) - 1), tail & (len(new) - 1)
        new[target : target + stop - tail] = old[source : source + stop - tail]
        tail = stop


def unrolled(ring: NDArray[Any], tail: int, head: int) -> NDArray[Any]:
    """Elements [tail, head) in order (a copy)."""
    values: NDArray[Any] = ring[np.arange(tail, head) & (len(ring) - 1)]
    return values
