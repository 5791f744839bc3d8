"""How many partitions each stream has, by which a query is known to be in force on all of them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from saffron.errors import LogError
from saffron.records.stream import StreamRecord
from saffron.runtime.log import Log

_EVERY_MS = 10_000


def count_partitions(log: Log, streams: Mapping[str, StreamRecord]) -> dict[str, int]:
    """The number of partitions of each stream whose topic exists. LogError: the broker does not say."""
    found = log.describe(sorted({one.topic for one in streams.values()}))
    return {name: found[one.topic].partitions for name, one in streams.items() if one.topic in found}


class PartitionCounts:
    """The counts of `count_partitions`, asked for again every ten seconds, and at once where the streams change."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._counts: Mapping[str, int] = {}
        self._topics: Mapping[str, str] = {}
        self._at = 0

    def look(self, streams: Mapping[str, StreamRecord], now_ms: int) -> Mapping[str, int]:
        """The counts now; the last ones, where the broker does not say."""
        topics = {name: one.topic for name, one in streams.items()}
        if topics == self._topics and 0 <= now_ms - self._at < _EVERY_MS:
            return self._counts
        self._topics, self._at = topics, now_ms
        with suppress(LogError):  # whoever needs the log says so
            self._counts = count_partitions(self._log, streams)
        return self._counts
