"""The check of keys: whether they lie where murmur2 puts them.

Another partitioner spreads the events of a key over partitions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import orjson

from saffron.cli.checks.cluster.look import Look
from saffron.cli.finding import Finding, error, ok, warning
from saffron.counted import counted
from saffron.engine.events.decoding.rules.outcomes import WATERMARK_TYPE
from saffron.runtime.hops.input_state import GROWN
from saffron.runtime.log import Record
from saffron.runtime.log.murmur2 import partition_of

_FIX = "partitioner=murmur2_random in the producer (librdkafka's default is CRC32; Java's is murmur2)"


def check_keys(look: Look) -> Iterator[Finding]:
    """Findings on message keys: events in another partition than murmur2's, and events without keys."""
    for name, record in look.streams.items():
        facts = look.topics.get(record.topic)
        count = len(facts.partitions) if facts is not None else 0
        records = [one for one in look.events.get(name, ()) if not _is_mark(one)]
        keyed = [one for one in records if one.key is not None]
        keyless = len(records) - len(keyed)
        counts = {count, *_counts_before(look, record.topic)}
        strays = [one for one in keyed if count > 1 and not _lies_right(one, counts)]
        if strays:
            what = f"murmur2 puts {len(strays)} of the last {counted(len(keyed), 'keyed event')} elsewhere: "
            what += _example(strays[0], count)
            yield error("keys", what, record.topic, _FIX)
        elif record.key and count > 1 and keyless > len(keyed):
            what = f"the stream's key is {record.key!r}, but {keyless} of {counted(len(records), 'event')} have none"
            yield warning("keys", what, record.topic, f"produce with the message key set to the event's {record.key}")
        else:
            lie = counted(len(keyed), "keyed event lies", "keyed events lie")
            yield ok("keys", f"{lie} where murmur2 says", record.topic)


def _counts_before(look: Look, topic: str) -> Iterator[int]:
    """The numbers of partitions that the topic had before some were added. Older events stay where they are."""
    for word in look.inputs:
        for row in word.inputs:
            if row["topic"] == topic:
                yield from (int(one["before"]) for one in row["incidents"] if one["kind"] == GROWN)


def _lies_right(record: Record, counts: Iterable[int]) -> bool:
    return any(partition_of(record.key or b"", count) == record.partition for count in counts)


def _is_mark(record: Record) -> bool:
    """True if the record is a `$watermark`, which needs no key: streams that are made of others have many."""
    try:
        event = orjson.loads(record.value or b"")
    except orjson.JSONDecodeError:
        return False
    return isinstance(event, dict) and event.get("type") == WATERMARK_TYPE


def _example(stray: Record, count: int) -> str:
    key = (stray.key or b"").decode("utf-8", "replace")
    return f"key {key!r} is in partition {stray.partition}, not {partition_of(stray.key or b'', count)}"
