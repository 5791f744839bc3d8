"""The topics of a stream, as a plan creates them."""

from __future__ import annotations

from dataclasses import replace

from saffron.control.checks import Refused
from saffron.control.streams.change import StreamChange, StreamContext, StreamPlan
from saffron.counted import counted
from saffron.records.stream import StreamRecord, version_after
from saffron.runtime.log.topics import Topics, stream_topics, topic_files
from saffron.runtime.results.published import cycle
from saffron.runtime.streams.unknown_names import no_topic


def inner_topics_used(record: StreamRecord, now: StreamContext) -> bool:
    """True if an internal topic of this generation was written to: one of them may have been created again."""
    topics = Topics(now.prefix)
    return any(now.used(topic) for topic in (topics.windows_of(record.stem), topics.admitted_of(record.stem)))


def with_topics(
    before: StreamRecord | None,
    record: StreamRecord,
    change: StreamChange,
    now: StreamContext,
    otherwise: int | None = None,
) -> StreamPlan:
    """The plan with missing topics. `otherwise`: partitions where nothing says how many.

    Refused: the stream's own topic is missing, and no number of partitions is given; or it would read its own results.
    """
    reads_anew = before is None or before.definition != record.definition
    if reads_anew and (way := cycle(record.name, {**now.streams, record.name: record}, now.queries)):
        raise Refused(409, "topic", f"results would be events of stream {record.name!r} again: {way}")
    count = _partitions(record, change, now, otherwise, is_new=before is None)
    if count is None:
        foreign = [name for name in now.topics() if not name.startswith(now.prefix)]  # under it are its own
        raise Refused(
            409,
            "topic",
            no_topic(record.topic, foreign, "name another with --topic, or create it with --partitions N"),
        )
    if before is None and change.partitions not in (None, count):
        raise Refused(
            409,
            "partitions",
            f"topic {record.topic!r} has {counted(count, 'partition')}, not {change.partitions}: leave that out",
        )
    topics = [topic_files()["events"].spec(record.topic, count), *stream_topics(now.prefix, record.stem, count)]
    missing = [one for one in topics if now.partitions(one.name) is None]
    numbered = replace(record, version=version_after(before, now.next_offset))
    return StreamPlan(before, numbered, missing, count, record.name in now.unreadable)


def _partitions(
    record: StreamRecord, change: StreamChange, now: StreamContext, otherwise: int | None, *, is_new: bool
) -> int | None:
    """How many partitions the stream's topic has, or is made with.

    One that Saffron writes is made again as it was, since its keys lie by that: its inner topics have as many.
    """
    count = now.partitions(record.topic) or change.partitions
    if count is None and record.is_routed and not is_new:
        count = now.partitions(Topics(now.prefix).windows_of(record.stem))
    source = None if record.source is None else now.streams.get(record.source)
    if count is None and source is not None:
        count = now.partitions(source.topic)
    return count or otherwise
