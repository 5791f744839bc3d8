"""The newest results, read from the ends of the result topics on request.

They are not followed: there may be hundreds of thousands of results a second, more than Faust or a page can take.
Reading the end costs the same at any rate. Only committed results are read.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from saffron.control.result_body import shown_result
from saffron.errors import LogError
from saffron.runtime.log import Consumer, Log, Record, TopicPartition
from saffron.runtime.log.ends import read_to_end
from saffron.runtime.result_formats.reading import result_values

_WIDER = 4
_POLLS = 40
"""Limit of polls: an answer takes two seconds at most, with the results read by then."""
_BATCH = 500

_Ends = dict[TopicPartition, tuple[int, int]]


class Tail:
    """Reader of topics' newest messages. Calls wait for each other: one consumer serves all."""

    def __init__(self, log: Log, group: str) -> None:
        self._log = log
        self._group = group
        self._lock = threading.Lock()
        self._consumer: Consumer | None = None

    def last(self, topics: Sequence[str], count: int) -> list[dict[str, Any]]:
        """The newest `count` results of all topics and partitions, newest first. LogError: no broker answers."""
        with self._lock:
            if self._consumer is None:
                self._consumer = self._log.consumer(self._group, committed_only=True, client_id="control-tail")
            try:
                found = self._last(self._consumer, self._ends(self._consumer, topics), count)
            except LogError:
                self._release()
                raise
        found.sort(key=lambda one: one.get("detected_at", 0), reverse=True)
        return found[:count]

    def close(self) -> None:
        """Release the consumer."""
        with self._lock:
            self._release()

    def _release(self) -> None:
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    def _ends(self, consumer: Consumer, topics: Sequence[str]) -> _Ends:
        """(earliest, next) offset of each partition that has messages."""
        places = [TopicPartition(topic, one) for topic in topics for one in range(self._log.partitions(topic) or 0)]
        ends = {place: consumer.watermarks(place) for place in places}
        return {place: (low, high) for place, (low, high) in ends.items() if high > low}

    @staticmethod
    def _last(consumer: Consumer, ends: _Ends, count: int) -> list[dict[str, Any]]:
        """The newest results.

        Transaction markers take offsets too, so the search goes further back until there are enough.
        """
        span = count
        while ends:
            starts = {place: max(low, high - span) for place, (low, high) in ends.items()}
            found = _read(consumer, starts)
            whole = all(starts[place] == ends[place][0] for place in ends)
            if whole or len(found) >= count or span >= count * _WIDER**3:
                return found
            span *= _WIDER
        return []


def _read(consumer: Consumer, starts: dict[TopicPartition, int]) -> list[dict[str, Any]]:
    """The results from `starts` to the stable ends."""
    records = read_to_end(consumer, starts, batch=_BATCH, polls=_POLLS)
    return [_result(record) for record in records if record.value is not None]


def _result(record: Record) -> dict[str, Any]:
    """A record as JSON values; one that is too large is shown without its events, one that is no result by its size."""
    result = result_values(record)
    size = len(record.value or b"")
    if result is None:
        query = (record.key or b"").decode("utf-8", "replace")
        return {"query": query, "bytes": size, "topic": record.topic}
    return {**shown_result(result, size), "topic": record.topic}
