"""The writing of results: messages of the output topic, with a dead letter in place of one that is too large."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import UTC, datetime
from itertools import repeat
from time import perf_counter_ns

from saffron.engine.operators.addresses import Address
from saffron.engine.operators.results import Results
from saffron.errors import FailedError
from saffron.runtime.log import Producer, TopicPartition
from saffron.runtime.log.murmur2 import partition_of
from saffron.runtime.log.traces import Headers, trace_headers
from saffron.runtime.result_formats.forms import DATASCHEMA
from saffron.runtime.result_formats.reading import ID
from saffron.runtime.results.chain_plan import ChainPlan, Limits, PendingResults
from saffron.runtime.results.large_results import LargeResult
from saffron.runtime.results.progress import WrittenPlace
from saffron.runtime.results.tally import Tally

_FEW, _GROWTH = 16, 8
"""Results rendered at first, and growth of that number per slice while the results are small."""
_SLICE_BYTES = 16 << 20


class ResultWriter:
    """The results of one chain's open transaction. It counts them in `tally`."""

    def __init__(self, plan: ChainPlan, limits: Limits, tally: Tally) -> None:
        self._plan = plan
        self._limits = limits
        self._tally = tally
        self._sent = self._sent_bytes = 0
        self._slice = _FEW

    @property
    def is_full(self) -> bool:
        """True if the transaction holds as much as it may."""
        return self._sent >= self._limits.results or self._sent_bytes >= self._limits.bytes

    def begin(self) -> None:
        """Begin a transaction, which holds nothing yet."""
        self._sent = self._sent_bytes = 0

    def write(
        self,
        producer: Producer,
        pending: PendingResults,
        excluded: Callable[[], Collection[str]],
        failed: Callable[[], bytes],
        topic_id: str,
        now_ms: int,
    ) -> None:
        """Writes a slice of the pending results, at most as many as the transaction still holds.

        `excluded`: the queries whose results are left out, asked once the results are rendered and encoded. `failed`,
        `topic_id`: entries of failed queries and the id of the input, for the place that the last message names.
        """
        began = perf_counter_ns()
        start, results = pending.index, pending.results
        left = self._limits.results - self._sent  # none of a transaction that cannot end within the block
        stop = min(len(results), start + (min(left, self._slice) if left > 0 else self._slice))
        detected = b',"detected_at":%d}' % now_ms
        names = [name.encode() for name in results.names]
        shared = (("ce_source", self._plan.source), *self._plan.headers, ("ce_time", _instant(now_ms)))
        addresses = results.addresses(start, stop)
        queries, bodies = results.query[start:stop].tolist(), results.json(start, stop)
        encodings = self._encoded(pending.results, start, bodies, addresses, detected)
        left_out = excluded()
        columns = pending.traced_columns
        traces: Iterable[Headers] = repeat(()) if columns is None else trace_headers(columns, results, start, stop)
        too_large, excluded_rows = [], []
        held: tuple[TopicPartition, bytes, bytes | None, Headers] | None = None
        rows = zip(queries, bodies, encodings, addresses, traces, strict=False)
        for index, (query, body, value, address, trace) in enumerate(rows, start):
            if not body or value == b"" or results.names[query] in left_out:
                excluded_rows.append(index)
                continue
            size = len(body if value is None else value)
            if address is not None and address.key is not None:
                size += len(address.key)
            if size > self._limits.result_bytes:
                too_large.append(index)
                self._send_letter(producer, pending, index, body, size)
                continue
            if held is not None:
                _send(producer, *held)
            where, key = (
                (self._plan.output, names[query]) if address is None else self._published(address, names[query])
            )
            row = None if address is None else address.row
            described = shared if row is None else _described(shared, self._plan.published.rows.content_type(row))
            held = (
                where,
                body[:-1] + detected if value is None else value,
                key,
                (*described, ("ce_id", body[ID]), *trace),
            )
        if held is not None:  # the last one names the place: the next may be in another transaction
            where, value, key, headers = held
            place = WrittenPlace(topic_id, self._plan.where.partition, pending.offset, stop, failed())
            _send(producer, where, value, key, (*headers, *place.headers()))
        self._tally.results_written(results, start, stop, perf_counter_ns() - began, too_large, excluded_rows)
        self._count(stop - start, sum(map(len, bodies)))
        pending.index = stop

    def _encoded(
        self,
        results: Results,
        start: int,
        bodies: Sequence[bytes],
        addresses: Sequence[Address | None],
        detected: bytes,
    ) -> Iterable[bytes | None]:
        """The results from `start` on as rows and in the output format; None: JSON as it is; empty: left out.

        A query fails whose result cannot be encoded, or whose topic is refused: its results from there on are left out.
        """
        encode, published = self._plan.encode, self._plan.published
        if encode is None and not any(addresses):
            return repeat(None)
        encodings: list[bytes | None] = [None] * len(bodies)
        failed = set[int]()
        queries = results.query[start : start + len(bodies)].tolist()
        for number, (query, body, address) in enumerate(zip(queries, bodies, addresses, strict=True)):
            if query in failed:
                encodings[number] = b""
            if not body or query in failed:
                continue
            try:
                if address is not None and (why := published.refused(address.topic)):
                    raise FailedError(why)
                if address is not None and address.row is not None:
                    encodings[number] = published.rows.encode(address.topic, address.row, body[:-1] + detected)
                elif encode is not None:
                    encodings[number] = encode(body[:-1] + detected)
            except Exception as error:
                results.fail(start + number, error)
                failed.add(query)
                encodings[number] = b""
        return encodings

    def _published(self, address: Address, query: bytes) -> tuple[TopicPartition, bytes | None]:
        """The partition and key of a result of PUBLISH; without KEY, the key is the name of the query."""
        count = self._plan.published.partitions(address.topic)
        if address.key is not None:
            return TopicPartition(address.topic, partition_of(address.key, count)), address.key
        return TopicPartition(address.topic, self._plan.where.partition % count), None if address.keyed else query

    def _count(self, results: int, size: int) -> None:
        """Counts rendered results, and sets the next slice's length by their size: one event's results may fill the
        memory.
        """
        self._sent += results
        self._sent_bytes += size
        self._slice = max(1, min(max(_FEW, _GROWTH * results), _SLICE_BYTES * results // max(1, size)))

    def _send_letter(self, producer: Producer, pending: PendingResults, index: int, body: bytes, size: int) -> None:
        """Writes a dead letter in place of a result above the limit.

        `size`: the result's bytes in the output format.
        """
        results = pending.results
        query, time = results.names[results.query[index]], int(results.last_time[index])
        found = LargeResult(self._plan.where, pending.offset, index, query, body[ID].decode(), time, size, body)
        letters, letter = self._plan.letters, found.letter(self._limits.result_bytes)
        producer.send(letters.topic, letters.partition, letter, key=found.key)


def _send(producer: Producer, where: TopicPartition, value: bytes, key: bytes | None, headers: Headers) -> None:
    producer.send(where.topic, where.partition, value, key=key, headers=headers)


def _described(headers: Headers, content_type: bytes) -> Headers:
    """The headers of a row: those of a result, with another type of content and without a schema of all results."""
    kept = tuple((name, value) for name, value in headers if name not in ("content-type", DATASCHEMA))
    return (*kept, ("content-type", content_type))


def _instant(ms: int) -> bytes:
    """The time as in CloudEvents (RFC 3339)."""
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z").encode()
