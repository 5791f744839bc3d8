"""What windowing would say of a message if it came now: it is asked itself, in a room of its own."""

from __future__ import annotations

from dataclasses import dataclass

from saffron.engine.events.codec import decode_block
from saffron.engine.events.json_schema import from_json_schema
from saffron.engine.events.raw import RawBatch
from saffron.engine.windows.operator import DeadLetter, WindowingOperator
from saffron.records.stream import StreamRecord
from saffron.runtime.dead_letters.reading import LOOKED_AT
from saffron.runtime.hops.tags import valid_blocks
from saffron.runtime.log import Log, TopicPartition
from saffron.runtime.log.ends import read_to_end
from saffron.runtime.log.topics import Topics

_BLOCKS = (16, LOOKED_AT)
"""How far back the newest block is looked for: claims may stand behind it, and the first look costs little."""
_POLLS = 100


@dataclass(frozen=True)
class Verdict:
    """`dead`: why it is no event, None where it is one. `raised`: by how many ms it would push the watermark ahead."""

    dead: DeadLetter | None
    raised: int


def foresee(message: RawBatch, stream: StreamRecord, watermark: int | None, max_future_ms: int) -> Verdict:
    """What becomes of a message, stamped with the time of sending and translated to JSON, if it is sent now.

    `watermark`: of its partition, in ms, None where there has been nothing yet.
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
    return Verdict(dead, 0 if watermark is None else operator.watermark - watermark)


def newest_watermark(log: Log, topics: Topics, group: str, stem: str, partition: int) -> int | None:
    """The watermark of a partition by its newest block behind the shedder, in ms; None: there is no block yet.

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
            blocks = valid_blocks(read_to_end(consumer, {place: start}, batch=back, polls=_POLLS)) if high > low else []
            if blocks:
                return decode_block(blocks[-1].value or b"").watermark
        return None
    finally:
        consumer.close()
