"""The newest results, read from the ends of the result topics on request.

They are not followed: there may be hundreds of thousands of results a second, more than Faust or a page can take.
Reading the end costs the same at any rate. Only committed results are read.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from saffron.control.result_body import shown_result
from saffron.errors import DeniedError, LogError
from saffron.runtime.log import Consumer, Log, Record, TopicPartition
from saffron.runtime.log.ends import read_to_end
from saffron.runtime.result_formats.reading import result_values

_LOG = logging.getLogger(__name__)
_WIDER = 4
_POLLS = 40
"""Limit of polls: an answer takes two seconds at most, with the results read by then."""
_BATCH = 500
_DENIED_SECONDS = 10.0
"""Time for which a topic that may not be read is left out, without a request."""

_Ends = dict[TopicPartition, tuple[int, int]]


@dataclass(frozen=True)
class Newest:
    """The newest results, newest first. `denied`: topics whose results are missing, since they may not be read."""

    results: list[dict[str, Any]]
    denied: list[str]


class Tail:
    """Reader of topics' newest messages. Calls wait for each other: one consumer serves all. `clock`: seconds.

    `_denied`: until when a topic is left out.
    """

    def __init__(self, log: Log, group: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._group = group
        self._clock = clock
        self._denied: dict[str, float] = {}
        self._lock = threading.Lock()
        self._consumer: Consumer | None = None

    def last(self, topics: Sequence[str], count: int) -> Newest:
        """The newest `count` results of all topics and partitions that may be read. LogError: no broker answers."""
        with self._lock:
            self._denied = {topic: until for topic, until in self._denied.items() if self._clock() < until}
            while (found := self._of_readable(topics, count)) is None:
                pass  # each turn leaves out one topic more
            denied = [topic for topic in topics if topic in self._denied]
        found.sort(key=lambda one: one.get("detected_at", 0), reverse=True)
        return Newest(found[:count], denied)

    def close(self) -> None:
        """Release the consumer."""
        with self._lock:
            self._release()

    def _release(self) -> None:
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    def _of_readable(self, topics: Sequence[str], count: int) -> list[dict[str, Any]] | None:
        """The newest results of the topics that are not left out. None: now one more is."""
        readable = [topic for topic in topics if topic not in self._denied]
        if self._consumer is None:
            self._consumer = self._log.consumer(self._group, committed_only=True, client_id="control-tail")
        try:
            return self._last(self._consumer, self._ends(self._consumer, readable), count)
        except LogError as error:
            self._release()
            if not isinstance(error, DeniedError) or error.topic not in readable:
                raise
            _LOG.warning("results of %s are left out: %s; trying again in %g s", error.topic, error, _DENIED_SECONDS)
            self._denied[error.topic] = self._clock() + _DENIED_SECONDS
            return None

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
    """A record as JSON values that can be written; one that is too large is shown without its events.

    What is no result, or a foreign one that cannot be written, is shown by its size.
    """
    result = result_values(record)
    size = len(record.value or b"")
    if result is not None and _is_writable(shown := shown_result(result, size)):
        return {**shown, "topic": record.topic}
    query = (record.key or b"").decode("utf-8", "replace")
    return {"query": query, "bytes": size, "topic": record.topic}


def _is_writable(shown: dict[str, Any]) -> bool:
    """True unless it has an integer beyond 64 bits, half a surrogate pair, or is nested too deeply."""
    try:
        orjson.dumps({"results": [shown]})  # as deep as it stands in the answer
    except orjson.JSONEncodeError:
        return False
    return True
