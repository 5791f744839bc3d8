"""Dry run of a message through windowing: whether it would be an event if it came now."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from saffron.engine.events.codec import decode_block
from saffron.engine.events.json_schema import from_json_schema
from saffron.engine.events.raw import RawBatch
from saffron.engine.windows.dead_letters import DeadLetter
from saffron.engine.windows.operator import WindowingOperator
from saffron.records.stream import StreamRecord
from saffron.runtime.dead_letters.reading import LOOKED_AT
from saffron.runtime.hops.tags import valid_blocks
from saffron.runtime.log import Log, TopicPartition
from saffron.runtime.log.ends import each_to_end
from saffron.runtime.log.topics import Topics

_BLOCKS = (16, LOOKED_AT)
"""Numbers of messages searched for the newest block. Claims may follow it, and the first search is cheap."""
_BATCH, _POLLS = 500, 100


@dataclass(frozen=True)
class DryRun:
    """The outcome of a dry run.

    `dead`: the first dead letter, None for events. `raised`: advance of the watermark in ms. `elements`: the number of
    events and dead letters that the message is.
    """

    dead: DeadLetter | None
    raised: int
    elements: int = 1


def dry_run(message: RawBatch, stream: StreamRecord, watermark: int | None, max_future_ms: int) -> DryRun:
    """The outcome for a message that is sent now, as JSON and stamped with the present time.

    `watermark`: of its partition in ms, None before the first block.
    """
    given = None if stream.schema is None else from_json_schema(stream.schema)
    operator = WindowingOperator(
        0, "", given, disorder_ms=stream.disorder or 0, max_future=max_future_ms, rekeyed=stream.source is not None
    )
    if watermark is not None:
        operator.advance_watermark(watermark)
    operator.ingest(message)
    operator.flush()
    dead = next(iter(operator.take_dead_letters()), None)
    return DryRun(dead, 0 if watermark is None else operator.watermark - watermark)


def newest_watermark(log: Log, topics: Topics, group: str, stem: str, partition: int) -> int | None:
    """The watermark of a partition in ms, from its newest block in `admitted`; None before the first block.

    `stem`: of its stream (`StreamRecord.stem`).
    """
    place = TopicPartition(topics.admitted_of(stem), partition)
    if partition >= (log.partitions(place.topic) or 0):
        return None
    consumer = log.consumer(group, committed_only=False, client_id="dead-letters")
    try:
        low, high = consumer.watermarks(place)
        for back in _BLOCKS:
            start = max(low, high - back)
            records = each_to_end(consumer, {place: start}, batch=_BATCH, polls=_POLLS) if high > low else iter(())
            if newest := deque(valid_blocks(records), maxlen=1):  # blocks may be large: one is held
                return decode_block(newest[0].value or b"").watermark
        return None
    finally:
        consumer.close()
