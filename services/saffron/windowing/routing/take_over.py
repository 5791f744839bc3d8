"""Where the route of one source partition goes on: its committed position, or what it has last said in its target.

A position of the group without our metadata was set by Kafka's own tools, and is not believed: the last `$watermark` of
each transaction names the place that was reached with it (`runtime.results.progress`).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import orjson

from saffron.engine.windows.bounds import NO_WATERMARK
from saffron.errors import LogError
from saffron.runtime.hops.input_state import LOST, REMADE, InputBook, InputState
from saffron.runtime.log import Committed, Consumer, Log, Record, TopicPartition
from saffron.runtime.results.progress import last_written, written_in

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Reached:
    """A route's position in the source topic, its watermark there, and what was known of the topic."""

    position: int
    watermark: int
    input: InputState = InputState()

    def committed(self) -> Committed:
        """As it is kept with the group."""
        metadata = orjson.dumps({"watermark": self.watermark, **self.input.record()})
        return Committed(self.position, metadata.decode())

    @classmethod
    def of(cls, committed: Committed) -> Reached | None:
        """What was kept; None where it is not of a route."""
        try:
            body = orjson.loads(committed.metadata)
            return cls(committed.offset, int(body["watermark"]), InputState.of(body))
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError):
            return None


@dataclass(frozen=True)
class Start:
    """Where to go on: at `position`, with `watermark`; `input` knows what has happened to the source since."""

    position: int
    watermark: int
    input: InputBook


def find_start(log: Log, consumer: Consumer, where: TopicPartition, target: str, group: str, now_ms: int) -> Start:
    """Of the route from `where` to the topic `target`. A source that was deleted and made anew is read from its first
    record on."""
    state = log.describe([where.topic]).get(where.topic)
    if state is None:
        raise LogError(f"topic {where.topic} is not there")
    low, high = consumer.watermarks(where)
    committed = consumer.committed(where)
    reached = None if committed is None else Reached.of(committed)
    if reached is None:
        reached = _recovered(log, where, target, group, committed)
    if reached is None:
        reached = Reached(low, NO_WATERMARK)
    book, position = InputBook(reached.input), reached.position
    if reached.input.remade(state.id) or position > high:
        book.note(REMADE, now_ms, position, position, low)
        position = low
    elif position < low:
        book.note(LOST, now_ms, position, position, low)
        position = low
    book.know(state.id, 0, position, now_ms)
    return Start(position, reached.watermark, book)


def _recovered(log: Log, where: TopicPartition, target: str, group: str, committed: Committed | None) -> Reached | None:
    """From what the route has said last."""
    found = last_written(log, f"{group}.ends", target, lambda record: _word(record).get("source") == where.partition)
    if found is None:
        return None
    written, watermark = written_in(found), int(_word(found).get("ts", NO_WATERMARK))
    if written is None:  # of version 0.1.0, whose positions all have metadata
        position = 0 if committed is None else committed.offset
        reached = Reached(position, watermark)
    else:
        reached = Reached(written.offset, watermark, InputState(written.topic))
    _LOG.warning(
        "%s/%d: group %s has no position of its own; it goes on at offset %d, by what stands in %s",
        where.topic, where.partition, group, reached.position, target,
    )  # fmt: skip
    return reached


def _word(record: Record) -> dict[str, Any]:
    """A `$watermark` of a source; empty where it is none."""
    value = record.value or b""
    if b"$watermark" not in value:
        return {}
    try:
        body = orjson.loads(value)
    except orjson.JSONDecodeError:
        return {}
    return body if isinstance(body, dict) and body.get("type") == "$watermark" else {}
