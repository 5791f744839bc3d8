"""The growth of counters between two looks at them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Growth(Generic[K]):
    """Counters by key, as they were at the last look."""

    def __init__(self) -> None:
        self._before: Mapping[K, int] = {}

    def since(self, now: Mapping[K, int]) -> dict[K, int]:
        """By key, the growth since the last call. One that is less than it was has begun anew at 0."""
        before, self._before = self._before, dict(now)
        return {key: count - before.get(key, 0) if count >= before.get(key, 0) else count for key, count in now.items()}
