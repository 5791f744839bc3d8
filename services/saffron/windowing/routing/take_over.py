"""Where the route of one source partition goes on: its committed position, or what it has last said in its target.

A position of the group without our metadata was set by Kafka's own tools, and is not believed: the last `$watermark` of
each transaction names the place that was reached with it (`runtime.progress`).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import orjson

from saffron.engine.windows.bounds import NO_WATERMARK
from saffron.errors import LogError
from saffron.runtime.log import Committed, Consumer, Log, Record, TopicPartition
from saffron.runtime.progress import last_written, written_in

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Reached:
    """A route's position in the source topic with the id `topic` (None: of version 0.1.0), and its watermark there."""

    topic: str | None
    position: int
    watermark: int

    def committed(self) -> Committed:
        """As it is kept with the group."""
        metadata = orjson.dumps({"watermark": self.watermark, "topic": self.topic})
        return Committed(self.position, metadata.decode())

    @classmethod
    def of(cls, committed: Committed) -> Reached | None:
        """What was kept; None where it is not of a route."""
        try:
            body = orjson.loads(committed.metadata)
            return cls(body.get("topic"), committed.offset, int(body["watermark"]))
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError):
            return None


@dataclass(frozen=True)
class Start:
    """Where to go on. `remade`: the source was deleted and made anew, and is read from its beginning.

    `lost`: offsets that retention took before they were read.
    """

    reached: Reached
    remade: bool
    lost: range


def find_start(log: Log, consumer: Consumer, where: TopicPartition, target: str, group: str) -> Start:
    """Of the route from `where` to the topic `target`."""
    state = log.describe([where.topic]).get(where.topic)
    if state is None:
        raise LogError(f"topic {where.topic} is not there")
    low, high = consumer.watermarks(where)
    committed = consumer.committed(where)
    reached = None if committed is None else Reached.of(committed)
    if reached is None:
        reached = _recovered(log, where, target, group, committed)
    if reached is None:
        return Start(Reached(state.id, low, NO_WATERMARK), remade=False, lost=range(0))
    if reached.topic not in (None, state.id):
        return Start(Reached(state.id, low, reached.watermark), remade=True, lost=range(0))
    position = min(max(low, reached.position), high)
    lost = range(reached.position, max(low, reached.position))
    return Start(Reached(state.id, position, reached.watermark), remade=False, lost=lost)


def _recovered(log: Log, where: TopicPartition, target: str, group: str, committed: Committed | None) -> Reached | None:
    """From what the route has said last."""
    found = last_written(log, f"{group}.ends", target, lambda record: _word(record).get("source") == where.partition)
    if found is None:
        return None
    written, watermark = written_in(found), int(_word(found).get("ts", NO_WATERMARK))
    if written is None:  # of version 0.1.0, whose positions all have metadata
        position = 0 if committed is None else committed.offset
        reached = Reached(None, position, watermark)
    else:
        reached = Reached(written.topic, written.offset, watermark)
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
