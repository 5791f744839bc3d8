"""The start of a re-keying chain: its committed position, or the last place written to its target topic.

A group position without our metadata was set by Kafka's own tools, and is ignored. The last `$watermark` record of each
transaction names the place reached (`runtime.results.progress`).
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson

from saffron.engine.windows.bounds import NO_WATERMARK
from saffron.errors import LogError
from saffron.mapping.definition import Start
from saffron.runtime.hops.input_state import LOST, REMADE, InputState, InputTracker
from saffron.runtime.hops.route_position import RoutePosition
from saffron.runtime.log import Committed, Consumer, Log, Record, TopicPartition
from saffron.runtime.log.starts import start_offset
from saffron.runtime.process.search import Check, Search
from saffron.runtime.results.progress import last_written, written_place
from saffron.schema.schema import MAX_TS
from saffron.windowing.routing.source_watermarks import WATERMARK

_LOG = logging.getLogger(__name__)
_NUMBER = re.compile(rb"-?\d{1,18}\Z")


@dataclass(frozen=True)
class RouteStart:
    """The start of a chain: position and watermark. `input` includes incidents of the source since the last commit.

    `said`: the watermark that readers know.
    `is_committed`: whether the group has all of this; else it is committed although nothing is read.
    `made_anew`: see `RoutePosition`.
    """

    position: int
    watermark: int
    input: InputTracker
    is_committed: bool
    made_anew: tuple[int, int] | None
    said: int


def find_start(
    log: Log,
    consumer: Consumer,
    where: TopicPartition,
    target: str,
    group: str,
    of: int,
    now_ms: int,
    first: Start | int,
    search: Search[Record | None],
) -> RouteStart:
    """The start of the chain from `where` to the topic `target`. `of`: number of its source in a merged stream.

    `first`: where a partition is read from that was never read. SearchError: the chain's last event in the target is
    still looked for, by `search`.

    A source that was deleted and created again is read from its first record.
    """
    state = log.describe([where.topic]).get(where.topic)
    if state is None:
        raise LogError(f"topic {where.topic} is not there")
    state.require(where)
    low, high = consumer.watermarks(where)
    committed = consumer.committed(where)
    reached = None if committed is None else RoutePosition.from_committed(committed)
    last: Record | None = None
    if reached is None or _is_replaced(reached, state.id, high):
        find = partial(_last_of, log, where, state.id, target, group, of)
        last = search.outcome(find, f"the last event of {where.topic}/{where.partition} in {target}")
    if reached is None:
        reached = _recover(last, where, target, group, committed)
    is_committed = reached is not None
    if reached is None:
        reached = RoutePosition(start_offset(consumer, where, first), NO_WATERMARK)
    tracker, position, made_anew = InputTracker(reached.input), reached.position, reached.made_anew
    if is_committed and _is_replaced(reached, state.id, high):  # a start that was just asked for may be behind `high`
        tracker.add_incident(REMADE, now_ms, position, position, low)
        position = low
        sources = 0 if last is None else int(_watermark_message(last)["sources"])
        made_anew = (state.partitions, sources if made_anew is None else made_anew[1])
    elif position < low:
        tracker.add_incident(LOST, now_ms, position, position, low)
        position = low
    tracker.update(state.id, 0, position, now_ms)
    said = reached.watermark if reached.said is None else reached.said
    return RouteStart(position, reached.watermark, tracker, is_committed and not tracker.has_new, made_anew, said)


def _is_replaced(reached: RoutePosition, topic: str, high: int) -> bool:
    """True if the source was made anew, or has lost its end. `topic`: its present id."""
    return reached.input.remade(topic) or reached.position > high


def _recover(
    found: Record | None, where: TopicPartition, target: str, group: str, committed: Committed | None
) -> RoutePosition | None:
    """The position that the chain's last record in the target names, or None."""
    if found is None:
        return None
    written, said = written_place(found), int(_watermark_message(found).get("ts", -MAX_TS))
    said = said if said > -MAX_TS else NO_WATERMARK  # the source had no event yet
    watermark = next((int(value) for name, value in found.headers if name == WATERMARK and _NUMBER.match(value)), said)
    if written is None:  # version 0.1.0: all positions have metadata
        position = 0 if committed is None else committed.offset
        reached = RoutePosition(position, said)
    else:
        reached = RoutePosition(written.offset, watermark, InputState(written.topic), said=said)
    _LOG.warning(
        "%s/%d: group %s has no position of its own; it goes on at offset %d, by what stands in %s",
        where.topic, where.partition, group, reached.position, target,
    )  # fmt: skip
    return reached


def _last_of(
    log: Log, where: TopicPartition, topic: str, target: str, group: str, of: int, check: Check
) -> Record | None:
    """The chain's last record in the target, or None. `topic`: the id of its source topic."""

    def is_own(record: Record) -> bool:
        message = _watermark_message(record)
        return message.get("source") == where.partition and message.get("of", 0) == of

    return last_written(log, f"{group}.ends", (target,), is_own, topic, 0, check)


def _watermark_message(record: Record) -> dict[str, Any]:
    """The content of a `$watermark` record; empty for other records."""
    value = record.value or b""
    if b"$watermark" not in value:
        return {}
    try:
        body = orjson.loads(value)
    except orjson.JSONDecodeError:
        return {}
    return body if isinstance(body, dict) and body.get("type") == "$watermark" else {}
