"""Matches as the keys of their events, with weights: of many different ones, a sample by hash that adds up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from saffron.engine.kernels.hashing import mixed_one

MOST_LISTS = 4096
"""The most lists remembered; beyond it, lists whose hash is in the lower half of the range stay."""

Lists = Mapping[tuple[int, ...], int]
"""Keys of events -> weight."""


@dataclass
class ListSample:
    """A sample of lists, by hash, with weights.

    `held`: weights of the lists whose hash is below 2^(64 - level); each stands for 2^level lists.
    """

    held: dict[tuple[int, ...], int] = field(default_factory=dict)
    level: int = 0

    def __len__(self) -> int:
        return len(self.held)

    def add(self, keys: tuple[int, ...], weight: int) -> None:
        """Add to the weight of a list, if it is of the sample."""
        if keys in self.held or self._is_sampled(keys):
            self.held[keys] = self.held.get(keys, 0) + weight
            while len(self.held) > MOST_LISTS:
                self._rise(self.level + 1)

    def halve(self) -> None:
        """Forget half of every weight."""
        self.held = {keys: weight // 2 for keys, weight in self.held.items() if weight > 1}

    def lists(self) -> Lists:
        """Weights as of all lists together."""
        return {keys: weight << self.level for keys, weight in self.held.items()}

    @property
    def length(self) -> float:
        """The mean number of keys of a list; 1 without lists."""
        weight = sum(self.held.values())
        return sum(len(keys) * own for keys, own in self.held.items()) / weight if weight else 1.0

    @classmethod
    def together(cls, samples: Iterable[ListSample]) -> ListSample:
        """The union of several samples, as one sample."""
        parts = list(samples)
        whole = cls(level=max((part.level for part in parts), default=0))
        for part in parts:
            for keys, weight in part.held.items():
                whole.add(keys, weight)
        return whole

    def _rise(self, level: int) -> None:
        self.level = level
        self.held = {keys: weight for keys, weight in self.held.items() if self._is_sampled(keys)}

    def _is_sampled(self, keys: tuple[int, ...]) -> bool:
        if not self.level:
            return True
        return mixed_one(sum(keys)) >> (64 - self.level) == 0
