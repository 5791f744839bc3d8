"""Dry run of a message through a merged stream's definition: whether it would be events if it came now."""

from __future__ import annotations

from collections.abc import Callable

from saffron.engine.events.raw import RawBatch
from saffron.engine.windows.bounds import NO_WATERMARK
from saffron.engine.windows.dead_letters import DeadLetter
from saffron.mapping.definition import SourceDefinition
from saffron.mapping.definition_reader import definition_of
from saffron.records.stream import StreamRecord
from saffron.runtime.dead_letters.dry_run import DryRun
from saffron.runtime.hops.route_position import RoutePosition
from saffron.runtime.log import Log, Record, TopicPartition
from saffron.runtime.streams.merging import SourceReader
from saffron.runtime.streams.messages import Messages, batch_of
from saffron.runtime.streams.stream_tables import empty_tables


def read_element(
    record: Record,
    stream: StreamRecord,
    watermark: int,
    max_future_ms: int,
    translate: Callable[[SourceDefinition, RawBatch], RawBatch],
) -> DryRun:
    """The outcome for a message that is sent now. `watermark`: of its source partition in ms, or NO_WATERMARK.

    `translate`: makes JSON of messages in their source's format.
    """
    applied = stream.definition
    assert applied is not None
    definition = definition_of(applied)
    where = record.where
    reader = SourceReader(where, lambda: definition, 1, max_future_ms, watermark, lambda: empty_tables(definition))
    batch, source = batch_of([record]), definition.source(record.topic)
    batch = batch if source is None else translate(source, batch)
    inner = reader.read(batch, Messages([record], batch))
    raised = 0 if watermark == NO_WATERMARK else reader.watermark - watermark
    elements = len(inner.events) + len(inner.unread)
    if inner.unread:
        first = inner.unread[0]
        return DryRun(DeadLetter(0, record.timestamp, first.reason, first.detail, record.value), raised, elements)
    return DryRun(None, raised, elements)


def source_watermark(log: Log, prefix: str, stem: str, where: TopicPartition) -> int:
    """The watermark (ms) of a source partition, as its chain has committed it; NO_WATERMARK before that.

    `stem`: of the merged stream (`StreamRecord.stem`).
    """
    consumer = log.consumer(f"{prefix}router.{stem}", committed_only=True, client_id="dead-letters")
    try:
        committed = consumer.committed(where)
    finally:
        consumer.close()
    reached = None if committed is None else RoutePosition.from_committed(committed)
    return NO_WATERMARK if reached is None else reached.watermark
