"""Counting the matches of graphs without listing them: exact, however many they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.jit import kernel
from saffron.engine.kernels.numba_types import boolean, int32, int64

Ints = NDArray[np.int64]

_BITS = 62


@kernel(boolean(int64[::1], boolean[::1], int64[::1], int32[::1], int64[:, ::1], int64[:, ::1]))
def _count(first_node, root, first_before, before, paths, counts):  # type: ignore[no-untyped-def]
    """counts [graphs, limbs]: base 2**62, lowest first; False if the limbs do not suffice. paths: scratch, by node."""
    limbs, full = counts.shape[1], np.int64(1) << _BITS
    for graph in range(len(first_node) - 1):
        start, stop = first_node[graph], first_node[graph + 1]
        for node in range(start, stop):
            mine = node - start
            paths[mine] = 0
            paths[mine, 0] = 1 if root[node] else 0
            for edge in range(first_before[node], first_before[node + 1]):
                carry = np.int64(0)
                for limb in range(limbs):
                    total = paths[mine, limb] + paths[before[edge], limb] + carry
                    carry = np.int64(1) if total >= full else np.int64(0)
                    paths[mine, limb] = total - carry * full
                if carry != 0:
                    return False
        counts[graph] = paths[stop - start - 1]
    return True


def counted(first_node: Ints, root: NDArray[np.bool_], first_before: Ints, before: NDArray[np.int32]) -> list[int]:
    """The number of matches of each graph (arrays as in `Graphs`)."""
    graphs, limbs = len(first_node) - 1, 1
    largest = int(np.diff(first_node).max(initial=0))
    while True:
        counts = np.zeros((graphs, limbs), np.int64)
        if _count(first_node, root, first_before, before, np.empty((largest, limbs), np.int64), counts):
            break
        limbs *= 2
    found: list[int] = counts[:, -1].tolist()
    for limb in range(limbs - 2, -1, -1):
        found = [(high << _BITS) + low for high, low in zip(found, counts[:, limb].tolist(), strict=True)]
    return found
