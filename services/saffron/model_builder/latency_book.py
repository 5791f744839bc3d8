"""The state of a stream's latency model: times of events and drop orders, summed by bins of partial matches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from saffron.model_builder.cell_sums import PROCESSING

MOST_SUM = 1 << 52
"""Largest sum of a bin; above it the bin is halved."""

Bins = dict[int, list[int]]
"""Bin of the number of partial matches -> [events, events * partial matches, nanoseconds]."""


@dataclass
class LatencyBook:
    """The state of one stream: sums for f (`processing`) and g (`shedding`), and samples of the published functions.

    `touched`: the last batch that updated it. `since_halved`: number of batches that did since sums were halved.
    """

    processing: Bins = field(default_factory=dict)
    shedding: Bins = field(default_factory=dict)
    touched: int = -1
    published: list[float] = field(default_factory=list)
    since_halved: int = 0

    def add(self, kind: str, bin_: int, numbers: tuple[int, int, int]) -> None:
        """Add events, load and nanoseconds to a bin of f (`kind` "processing") or of g; halve it above MOST_SUM."""
        sums = (self.processing if kind == PROCESSING else self.shedding).setdefault(bin_, [0, 0, 0])
        sums[:] = [held + number for held, number in zip(sums, numbers, strict=True)]
        while max(sums) > MOST_SUM and sums[0] > 1:
            _halve(sums)

    def halve(self) -> None:
        """Halve all sums, but keep an event in each bin, as high loads are rare and only their bins cover them."""
        self.since_halved = 0
        for bins in (self.processing, self.shedding):
            for sums in bins.values():
                _halve(sums)

    def body(self) -> dict[str, Any]:
        """The book as JSON values."""
        return {
            "processing": _bins_body(self.processing),
            "shedding": _bins_body(self.shedding),
            "touched": self.touched,
            "published": self.published,
            "since_halved": self.since_halved,
        }

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> LatencyBook:
        """The book of a `body`."""
        return cls(
            _bins(body["processing"]),
            _bins(body["shedding"]),
            body["touched"],
            body["published"],
            body.get("since_halved", 0),
        )


def _halve(sums: list[int]) -> None:
    """Halve a bin's events, to one at least, and keep the means of load and time."""
    events, load, time = sums
    kept = max(1, events // 2)
    sums[:] = [kept, load * kept // events, time * kept // events]


def _bins_body(bins: Bins) -> list[list[int]]:
    return [[key, *sums] for key, sums in sorted(bins.items())]


def _bins(body: Iterable[list[int]]) -> Bins:
    return {key: sums for key, *sums in body}
