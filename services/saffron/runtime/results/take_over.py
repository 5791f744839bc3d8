"""The start of a result chain: the place to continue from, and the snapshot to restore.

    committed position, with our metadata   that place
    committed position, without metadata    set by Kafka's own tools: ignored; or written by version 0.1.0, if the
                                            output has results of the chain that name no place: used
    none                                    the later of the places named by the output and the newest snapshot;
                                            else the first record. The output is the topic of all results, and those
                                            of PUBLISH that the queries in the input name

A place behind the end of the input, or one before which the input has other records than were read, is moved back to
where the input is another one (`TRUNCATED`): an input without replicas loses its end with its broker's power. Results
of what is written there are new, or they repeat: nobody can tell.

Recovery from the output cannot know which observations were sent. Those of some blocks may be missing or repeated.

A place belongs to a topic id. A place of a deleted topic is not used for its successor.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from saffron.engine.events.block import Block
from saffron.errors import LogError, RemadeError, StreamError
from saffron.runtime.hops.input_state import InputState
from saffron.runtime.log import Committed, Consumer, Log, Record
from saffron.runtime.log.ends import first_record
from saffron.runtime.log.topic_watch import missing_shared_topic
from saffron.runtime.process.search import Check, Search
from saffron.runtime.results.chain_plan import ChainPlan, Place, blocks_until
from saffron.runtime.results.failed_queries import failed_queries_in
from saffron.runtime.results.progress import last_written, written_place
from saffron.runtime.results.published import topics_in
from saffron.runtime.results.snapshots import Snapshot, Snapshots

_LOG = logging.getLogger(__name__)
_CLOCKS_MS = 300_000
"""How far the clocks of services may be apart: a result is no older than the first block, less that."""


@dataclass(frozen=True)
class Start:
    """The start of a chain.

    `input`: known state of the input topic. `topic`: its present id. `place`: everything before it stands in the
    output. `low`: first offset of the input. `snapshot`: state to restore, or None. `lost`: offsets removed before they
    were read. `truncated`: offsets of records that were read, and are gone.
    """

    input: InputState
    topic: str
    place: Place
    low: int
    snapshot: Snapshot | None
    lost: range
    truncated: range


def find_start(
    log: Log,
    consumer: Consumer,
    plan: ChainPlan,
    snapshots: Snapshots,
    search: Search[Record | None],
    other_from: int | None = None,
) -> Start:
    """The start of the chain of `plan`. `other_from`: where the input has other records than were read, if it has.

    RemadeError: its input was deleted and created again. StreamError: the topic of its results does not exist.
    SearchError: its last result is still looked for, by `search`.
    """
    where, output = plan.where, plan.output.topic
    found = log.describe([where.topic, output])
    state = found.get(where.topic)
    if state is None:
        raise LogError(f"topic {where.topic} is not there")
    if output not in found:
        raise StreamError(missing_shared_topic(output))
    state.require(where)
    low, high = consumer.watermarks(where)
    committed = consumer.committed(where)
    kept = None if committed is None else Place.from_committed(committed)
    known = InputState() if kept is None else kept.input
    if known.remade(state.id):
        raise RemadeError(where.topic)
    truncated = range(0)
    if kept is not None:
        place, end = kept.place, high if other_from is None else min(high, other_from)
        if place.read > end:
            claim = place.claim if place.claim < end == high else -1  # what stands before the end may be new, too
            truncated, place = range(end, place.read), Place(end, 0, end, failed=place.failed, claim=claim)
            snapshots.discard(end)
        snapshot = snapshots.newest(place.offset, state.id)
    else:
        last = search.outcome(
            partial(_last_result, log, plan, state.id, high),
            f"the last result of {where.topic}/{where.partition} in {output}",
        )
        place, snapshot = _recover(plan, last, snapshots, state.id, low, high, committed)
    lost = range(place.offset, max(place.offset, low))
    if snapshot is not None and snapshot.position < low:
        snapshot = None
    return Start(known, state.id, place, low, snapshot, lost, truncated)


def _last_result(log: Log, plan: ChainPlan, topic: str, high: int, check: Check) -> Record | None:
    """The newest record that the chain has written of the blocks before offset `high`, or None.

    `topic`: the id of its input.
    """
    if high == 0:
        return None
    group = f"{plan.group}.ends"
    first = first_record(log, group, plan.where)
    since = 0 if first is None else first.timestamp - _CLOCKS_MS
    outputs = (plan.output.topic, *sorted(topics_in(_checked(blocks_until(log, plan, high - 1), check))))
    return last_written(log, group, outputs, partial(_is_own, plan, topic), topic, since, check)


def _checked(blocks: Iterable[Block], check: Check) -> Iterator[Block]:
    for block in blocks:
        check()
        yield block


def _is_own(plan: ChainPlan, topic: str, record: Record) -> bool:
    """True if the chain, whose input has the id `topic`, has written a record.

    Only this system writes the topic of all results. Topics of PUBLISH may have records of other systems and of earlier
    ones, with the same ce_source. There only a record that names a place of this input is the chain's.
    """
    if ("ce_source", plan.source) not in record.headers:
        return False
    written = written_place(record)
    named = None if written is None else (written.topic, written.partition)
    return record.topic == plan.output.topic or named == (topic, plan.where.partition)


def _recover(
    plan: ChainPlan,
    found: Record | None,
    snapshots: Snapshots,
    topic: str,
    low: int,
    high: int,
    committed: Committed | None,
) -> tuple[Place, Snapshot | None]:
    """The place and the snapshot to continue from, without a usable committed position.

    `found`: the chain's last result.
    """
    written = None if found is None else written_place(found)
    if written is not None and written.topic != topic:
        if committed is not None:
            raise RemadeError(plan.where.topic)
        found = written = None  # of a removed stream with this name
    if found is not None and written is None and committed is not None:  # version 0.1.0 wrote no metadata
        offset = min(committed.offset, high)
        return Place(offset, 0, offset), snapshots.newest(offset, topic)
    snapshot = snapshots.newest(high, topic, known=True)
    place = Place(low, 0, low)
    if written is not None:
        place = Place(written.offset, written.index, written.offset, failed=failed_queries_in(written.failed))
    if snapshot is not None and snapshot.position > place.offset:
        place = Place(snapshot.position, 0, snapshot.position, failed=place.failed)
    if place.offset > low or committed is not None:
        what = "no position" if committed is None else f"a position that is not its own ({committed.offset})"
        _LOG.warning(
            "%s/%d: group %s has %s; it goes on at offset %d, behind what stands in %s",
            plan.where.topic, plan.where.partition, plan.group, what, place.offset, plan.output.topic,
        )  # fmt: skip
    return place, snapshot
