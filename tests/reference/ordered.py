"""The ordered index of vertices as a list: every operation from its definition (engine/trends/ordered/ordered.py)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction

Bound = tuple[float, int]
"""A key, and a side below or above 0, where its entry is."""


@dataclass(frozen=True)
class Entry:
    """A vertex: its order, its numbers (counts, then sums), and those of which the least counts."""

    word: int
    key: float
    numbers: tuple[Fraction, ...]
    lows: tuple[float, ...]


@dataclass
class OrderedList:
    """One tree. `windows` and `slots`: the first of the numbers are counts per window; dead is what has none."""

    windows: int
    entries: list[Entry] = field(default_factory=list)

    def aggregate(self, word: int, low: Bound, high: Bound, rows: int, lows: int) -> tuple[list[Fraction], list[float]]:
        """Sums and least values of the entries between two bounds."""
        chosen = [entry for entry in self.entries if entry.word == word and low <= (entry.key, 0) < high]
        sums = [sum((entry.numbers[r] for entry in chosen), Fraction()) for r in range(rows)]
        return sums, [min((entry.lows[r] for entry in chosen), default=float("inf")) for r in range(lows)]

    def clear_slot(self, slot: int) -> None:
        """Zero the numbers of one window slot."""
        self.entries = [
            replace(
                entry,
                numbers=tuple(Fraction(0) if r % self.windows == slot else n for r, n in enumerate(entry.numbers)),
                lows=tuple(float("inf") if r % self.windows == slot else n for r, n in enumerate(entry.lows)),
            )
            for entry in self.entries
        ]

    def prune(self) -> None:
        """Drop what counts in no window."""
        self.entries = [entry for entry in self.entries if any(entry.numbers[: self.windows])]
