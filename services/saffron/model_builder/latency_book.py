"""What the builder keeps of how long events and drop orders of a stream take: sums by bins of partial matches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from saffron.model_builder.rows import PROCESSING

MOST_SUM = 1 << 52
"""Where a sum of a bin passes this, the bin is halved, whatever its age."""

Bins = dict[int, list[int]]
"""bin of partial matches -> [events, load, nanoseconds]."""


@dataclass
class LatencyBook:
    """One stream: sums for f and g, the last batch that had any, and the function values published last.

    `since_halved`: batches that added to it since half of it was forgotten.
    """

    processing: Bins = field(default_factory=dict)
    shedding: Bins = field(default_factory=dict)
    touched: int = -1
    published: list[float] = field(default_factory=list)
    since_halved: int = 0

    def add(self, kind: str, bin_: int, numbers: tuple[int, int, int]) -> None:
        """Add events, load and nanoseconds to a bin of f (`kind` "processing") or of g."""
        sums = (self.processing if kind == PROCESSING else self.shedding).setdefault(bin_, [0, 0, 0])
        sums[:] = [held + number for held, number in zip(sums, numbers, strict=True)]
        while max(sums) > MOST_SUM and sums[0] > 1:
            _halve(sums)

    def halve(self) -> None:
        """Forget half of everything, but never all of a bin: overload is rare, and nothing else tells what so many
        partial matches take."""
        self.since_halved = 0
        for bins in (self.processing, self.shedding):
            for sums in bins.values():
                _halve(sums)

    def body(self) -> dict[str, Any]:
        """Everything, JSON-able."""
        return {
            "processing": _bins_body(self.processing),
            "shedding": _bins_body(self.shedding),
            "touched": self.touched,
            "published": self.published,
            "since_halved": self.since_halved,
        }

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> LatencyBook:
        """The book whose `body` this is."""
        return cls(
            _bins(body["processing"]),
            _bins(body["shedding"]),
            body["touched"],
            body["published"],
            body.get("since_halved", 0),
        )


def _halve(sums: list[int]) -> None:
    """Half of a bin's events, at least one, with their means."""
    events, load, time = sums
    kept = max(1, events // 2)
    sums[:] = [kept, load * kept // events, time * kept // events]


def _bins_body(bins: Bins) -> list[list[int]]:
    return [[key, *sums] for key, sums in sorted(bins.items())]


def _bins(body: Iterable[list[int]]) -> Bins:
    return {key: sums for key, *sums in body}
