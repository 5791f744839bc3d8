"""The arrays of the match buffer, as a ring (see `chains`), and the list of matches found in a block."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.match.core.pools import aligned
from saffron.engine.match.core.rings import copy_ring, unrolled

_SMALLEST = 1024

Array = NDArray[np.generic]


class Nodes:
    """Nodes [tail, head), numbered from 0; node i stands at place i & (capacity - 1)."""

    def __init__(self) -> None:
        self.row: NDArray[np.uint32] = aligned((_SMALLEST,), np.uint32)
        self.before: NDArray[np.uint32] = aligned((_SMALLEST,), np.uint32)
        self.part: NDArray[np.uint8] = aligned((_SMALLEST,), np.uint8)

    @property
    def arrays(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint8]]:
        return self.row, self.before, self.part

    @property
    def size(self) -> int:
        return sum(array.nbytes for array in self.arrays)

    def grow(self, tail: int, head: int) -> None:
        """Twice the capacity."""

        def grown(old: Array) -> Any:
            new = aligned((2 * len(old),), old.dtype)
            copy_ring(old, new, tail, head)
            return new

        self.row, self.before, self.part = (grown(array) for array in self.arrays)

    def live(self, tail: int, head: int) -> dict[str, Array]:
        """Nodes [tail, head) in order (copies)."""
        arrays: dict[str, Array] = {"row": self.row, "before": self.before, "part": self.part}
        return {name: unrolled(array, tail, head) for name, array in arrays.items()}

    @classmethod
    def restored(cls, arrays: Mapping[str, Array], tail: int, head: int) -> Nodes:
        nodes = cls()
        while len(nodes.row) < head - tail:
            nodes.grow(tail, tail)
        places = np.arange(tail, head) & (len(nodes.row) - 1)
        for name in ("row", "before", "part"):
            getattr(nodes, name)[places] = arrays[name]
        return nodes
