"""The source partitions of routed streams that other members of `windowing` read, as these report once a second.

A source that its owner has reported silent is not waited for. If the owner dies, nobody sees what comes to the source
until another member has taken it over. So the others wait for a source that no member has reported lately.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from saffron.runtime.log import TopicPartition
from saffron.runtime.telemetry.digest import INTERVAL_MS

_FRESH_MS = 3 * INTERVAL_MS
"""Age at which a report no longer says that somebody reads the source."""


class HeardSources:
    """The newest reports of all members. Times are in ms."""

    def __init__(self) -> None:
        self._at: dict[tuple[str, str], int] = {}

    def hear(self, body: Mapping[str, Any], now_ms: int) -> None:
        """Reads a digest of windowing."""
        for stem, places in body.get("reads", {}).items():
            for place in places:
                self._at[str(stem), str(place)] = now_ms

    def are_read(self, stem: str, places: Iterable[TopicPartition], now_ms: int) -> bool:
        """True if members have reported lately that they read all of these source partitions of a stream."""
        ages = (now_ms - self._at.get((stem, _name(place)), -_FRESH_MS) for place in places)
        return all(age < _FRESH_MS for age in ages)


def reads(places: Collection[TopicPartition]) -> list[str]:
    """The source partitions that a member reads, as it reports them."""
    return sorted(map(_name, places))


def _name(place: TopicPartition) -> str:
    return f"{place.topic}/{place.partition}"
