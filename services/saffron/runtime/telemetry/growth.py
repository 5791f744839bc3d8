"""The growth of counters between two looks at them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


def increases(now: Mapping[K, int], before: Mapping[K, int]) -> dict[K, int]:
    """The increase of each counter. One that is less than it was has begun anew at 0."""
    return {key: count - before.get(key, 0) if count >= before.get(key, 0) else count for key, count in now.items()}


class Growth(Generic[K]):
    """Counters by key, as they were at the last look."""

    def __init__(self) -> None:
        self._before: Mapping[K, int] = {}

    def since(self, now: Mapping[K, int]) -> dict[K, int]:
        """The increase of each counter since the last call."""
        before, self._before = self._before, dict(now)
        return increases(now, before)
