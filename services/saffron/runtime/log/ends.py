"""Readers of the ends of topics, for occasional reads without following."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping

from saffron.errors import UnavailableError
from saffron.runtime.log import Consumer, Log, Record, TopicPartition

_POLL_SECONDS = 0.05
_FIRST_LOOK, _MOST = 64, 8_192
_MOST_BYTES = 32 * 2**20
"""Bytes of the records that are held at once: a result may be large."""
_BATCH = 100
_SILENT_POLLS = 200
_OPEN_POLLS = 40


def read_to_end(consumer: Consumer, starts: Mapping[TopicPartition, int], *, batch: int, polls: int) -> list[Record]:
    """The records from `starts` to the ends, tombstones included, as far as `polls` polls return them."""
    return list(each_to_end(consumer, starts, batch=batch, polls=polls))


def each_to_end(
    consumer: Consumer, starts: Mapping[TopicPartition, int], *, batch: int, polls: int
) -> Iterator[Record]:
    """The records of `read_to_end` one by one, for callers that keep only few of them."""
    consumer.assign(starts)
    for _ in range(polls):
        records = consumer.poll(batch, _POLL_SECONDS)
        yield from records
        if not records and all(consumer.at_end(place) for place in starts):
            break


def each_that_is_there(
    consumer: Consumer, marks: Mapping[TopicPartition, tuple[int, int]], *, batch: int
) -> Iterator[Record]:
    """The records between the watermarks `marks` of partitions, tombstones included.

    Later ones are left out, so that it ends however many come meanwhile. UnavailableError: they cannot be read.
    """
    unread = {place: high for place, (low, high) in marks.items() if high > low}
    consumer.assign({place: marks[place][0] for place in unread})
    silent = 0
    while unread:
        records = consumer.poll(batch, _POLL_SECONDS)
        yield from (record for record in records if record.offset < marks[record.where][1])
        last = {record.where: record.offset for record in records}
        silent = 0 if last.keys() & unread.keys() else silent + 1
        # Behind the last record there may be a marker of a transaction only: then the end is told otherwise.
        read = [one for one, high in unread.items() if last.get(one, -1) >= high - 1 or consumer.at_end(one)]
        consumer.pause(read)
        unread = {place: high for place, high in unread.items() if place not in read}
        if unread and silent >= _SILENT_POLLS:
            place = min(unread)
            raise UnavailableError(
                f"{place.topic}/{place.partition} cannot be read to its end: does the broker answer?"
            )


def first_record(log: Log, group: str, place: TopicPartition) -> Record | None:
    """The earliest record of a partition; None if it has none. UnavailableError: it cannot be read."""
    consumer = log.consumer(group, committed_only=False, client_id="ends")
    try:
        low, high = consumer.watermarks(place)
        return next(iter(_piece(consumer, place, low, low + 1) or ()), None) if low < high else None
    finally:
        consumer.close()


def newest_first(log: Log, group: str, place: TopicPartition) -> Generator[Record, None, None]:
    """The committed records of a partition, newest first, read from the end in growing pieces. To be closed.

    Transactions that are open now are waited for, since their end decides which records are the newest; later ones do
    not count. UnavailableError: one stays open.
    """
    everything = log.consumer(group, committed_only=False, client_id="ends")
    committed = log.consumer(group, committed_only=True, client_id="ends")
    try:
        low, stop = everything.watermarks(place)
        for _ in range(_OPEN_POLLS):
            if committed.watermarks(place)[1] >= stop:
                break
            committed.poll(1, _POLL_SECONDS)  # nothing is assigned: it waits
        else:
            raise UnavailableError(f"a transaction is open in {place.topic}/{place.partition}: ask again")
        yield from backwards(committed, place, low, stop)
    finally:
        everything.close()
        committed.close()


def backwards(consumer: Consumer, place: TopicPartition, low: int, stop: int) -> Iterator[Record]:
    """The records low..stop-1 of a partition, newest first, read in pieces that grow while their records are small.

    UnavailableError: they cannot be read.
    """
    size = _FIRST_LOOK
    while stop > low:
        start = max(low, stop - size)
        piece = _piece(consumer, place, start, stop)
        if piece is None:
            size = (stop - start) // 2
            continue
        if 2 * sum(record.size for record in piece) <= _MOST_BYTES:
            size = min(2 * size, _MOST)
        stop = start
        while piece:  # each is let go of before the next piece is read
            yield piece.pop()


def _piece(consumer: Consumer, place: TopicPartition, start: int, stop: int) -> list[Record] | None:
    """The records start..stop-1. None: together they are too large. UnavailableError: they cannot be read."""
    found: list[Record] = []
    consumer.assign({place: start})
    silent = size = 0
    while silent < _SILENT_POLLS:
        records = consumer.poll(min(_BATCH, stop - start), _POLL_SECONDS)
        own = [record for record in records if record.offset < stop]
        size += sum(record.size for record in own)
        if size > _MOST_BYTES and stop - start > 1:
            return None
        found += own
        behind = bool(records) and records[-1].offset >= stop - 1
        if behind or (not records and consumer.at_end(place)):
            return found
        silent = 0 if records else silent + 1
    raise UnavailableError(f"{place.topic}/{place.partition} cannot be read from offset {start} to {stop - 1}")
