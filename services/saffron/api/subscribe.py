"""`saffron.subscribe`: the results of a running system, from Kafka, as objects."""

from __future__ import annotations

import asyncio
import os
import threading
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from saffron.api.partition_results import PartitionResults
from saffron.api.result import Result, result_of
from saffron.api.result_topics import ResultTopics
from saffron.errors import InputError, SaffronError
from saffron.runtime.log import Consumer, Log, Record, TopicPartition
from saffron.runtime.log.kafka import kafka_log
from saffron.runtime.process import config
from saffron.runtime.process.own_process import OwnProcess

if TYPE_CHECKING:
    from saffron.runtime.process.config import Settings

Start = Literal["latest", "earliest"] | Mapping[str, int]
_RECORDS = 1000
_WAIT = 0.2
_LOOK_AGAIN = 30.0
"""Seconds between two looks at how many partitions there are."""


class Subscription:
    """The committed results of queries, as they come: an iterator, and an async iterator. Use one of them.

    It waits for coming results until it is closed, unless it was told to end. `positions` say where to go on.
    """

    def __init__(
        self, log: Log, settings: Settings, queries: frozenset[str] | None, timeout: float | None, *, end: bool
    ) -> None:
        self._log = log
        self._queries = queries
        self._timeout = timeout
        self._ends = end
        self._topics = ResultTopics(log, settings.prefix, queries)
        self._consumer: Consumer = log.consumer(
            settings.group("subscribe"), committed_only=True, client_id="subscribe", patient=True
        )
        self._read: dict[TopicPartition, int] = {}
        self._partition_results: dict[TopicPartition, PartitionResults] = {}
        self._with_others: set[str] = set()
        self._looked = time.monotonic()
        self._reading = threading.Lock()
        self._closed = False
        self._results = self._all()
        self._thread: ThreadPoolExecutor | None = None
        self._own = OwnProcess("this subscription")
        self._asked: asyncio.Future[Result | None] | None = None
        self._turn = asyncio.Lock()

    def begin(self, start: Start) -> None:
        """Read from `start` on. InputError: it is no start, or names a partition that is not there."""
        if isinstance(start, str) and start not in ("earliest", "latest"):
            raise InputError(f"start: {start!r} is none: 'earliest', 'latest', or the positions of a subscription")
        if not isinstance(start, str):
            self._topics.add({name.rpartition("/")[0] for name in start} - {""})
        partitions = self._partitions()
        self._topics.require_results()
        if isinstance(start, str):
            end = ("earliest", "latest").index(start)
            self._read = {one: self._consumer.watermarks(one)[end] for one in partitions}
        else:
            named = {self._shown(one): one for one in partitions}
            if unknown := start.keys() - named.keys():
                raise InputError(f"start: there is no partition {min(unknown)}; there are {', '.join(named)}")
            self._read = {one: start.get(name, 0) for name, one in named.items()}
        self._partition_results = {one: PartitionResults(offset) for one, offset in self._read.items()}
        self._consumer.assign(self._read)

    @property
    def positions(self) -> dict[str, int]:
        """The offset behind the last result given, by partition, as `start` takes it: {"trends/0": 17, ...}."""
        return {self._shown(one): results.position for one, results in self._partition_results.items()}

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Result:
        self._own.require()
        return next(self._results)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Result:
        self._own.require()
        async with self._turn:  # tasks that share it take turns, and each result comes once
            if self._asked is None:
                if self._closed:
                    raise StopAsyncIteration
                self._thread = self._thread or ThreadPoolExecutor(1, "saffron-subscribe")
                self._asked = asyncio.get_running_loop().run_in_executor(self._thread, self._next)
            found = await asyncio.shield(self._asked)  # a reader that gives up waiting loses no result
            self._asked = None
        if found is None:
            raise StopAsyncIteration
        return found

    def close(self) -> None:
        """End the subscription, also from another thread: a waiting reader gets no more results."""
        self._closed = True
        if not self._own.is_here:
            return  # the connections are of the process that began it
        with self._reading:
            self._log.close()
        if self._thread is not None:
            self._thread.shutdown(wait=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)

    # ------------------------------------------------------------ inside

    def _next(self) -> Result | None:
        return next(self._results, None)

    def _all(self) -> Iterator[Result]:
        """The results, without those of other queries. SaffronError: a record of a topic of Saffron's is no result."""
        from saffron.runtime.result_formats.reading import result_values

        for record in self._records():
            where = record.where
            body = result_values(record)
            if body is None:
                self._pass_over(record)
            wanted = body is not None and (self._queries is None or body["query"] in self._queries)
            yield from map(result_of, self._partition_results[where].take(record.offset, body if wanted else None))
        if not self._closed:
            for results in self._partition_results.values():
                yield from map(result_of, results.rest())

    def _pass_over(self, record: Record) -> None:
        """Leave out a record that is no result, with a warning at the topic's first one.

        A topic of PUBLISH may have other writers. SaffronError: Saffron alone writes the topic.
        """
        what = f"{record.topic}/{record.partition}/{record.offset} is no result"
        if record.topic in self._topics.own:
            raise SaffronError(f"{what}: is it written by another program, or a later version?")
        if record.topic not in self._with_others:
            self._with_others.add(record.topic)
            warnings.warn(f"{what}, and left out, as all such messages of the topic will be", stacklevel=3)

    def _records(self) -> Iterator[Record]:
        """The committed records, until it is closed, at the end, or after a silence."""
        last = time.monotonic()
        while True:
            with self._reading:
                if self._closed:
                    return
                self._look()
                records = self._consumer.poll(_RECORDS, _WAIT)
                lost = self._consumer.out_of_range()
                ended = self._ends and not records and all(map(self._consumer.at_end, self._read))
            for where, one in lost.items():
                told = f"{self._shown(where)} has no offset {one.wanted}, and is read from {one.first} on"
                warnings.warn(f"results are missing: {told}", stacklevel=2)
                self._partition_results[where] = PartitionResults(one.first)
            for record in records:
                self._read[record.where] = record.offset + 1
            yield from records
            if records:
                last = time.monotonic()
            elif ended or (self._timeout is not None and time.monotonic() - last > self._timeout):
                return

    def _look(self) -> None:
        """Read partitions that were added, from their first record on."""
        if time.monotonic() - self._looked < _LOOK_AGAIN:
            return
        self._looked = time.monotonic()
        new = {one: 0 for one in self._partitions() if one not in self._read}
        if new:
            self._read |= new
            self._partition_results |= {one: PartitionResults(0) for one in new}
            self._consumer.assign(self._read)

    def _partitions(self) -> list[TopicPartition]:
        self._topics.look()
        found = []
        for topic in self._topics.names:
            count = self._log.partitions(topic) or 0  # a topic of PUBLISH comes to be when its query begins
            found += [TopicPartition(topic, number) for number in range(count)]
        return found

    def _shown(self, where: TopicPartition) -> str:
        return f"{self._topics.names[where.topic]}/{where.partition}"


def subscribe(
    queries: str | Sequence[str] | None = None,
    *,
    start: Start = "latest",
    end: bool = False,
    timeout: float | None = None,
    brokers: str | None = None,
    prefix: str | None = None,
    data: str | os.PathLike[str] | None = None,
) -> Subscription:
    """The results of a running system: `with saffron.subscribe("rally") as results: for match in results: ...`.

    Only committed results are read, so each comes once, in the order of its partition. `async with` and `async for`
    work, too.

    `queries`: names of the queries; None: all. `start`: what comes from now on ("latest"), all that is still there
    ("earliest"), or the `positions` of an earlier subscription; partitions that these do not name are read whole.
    `end`: stop at the end of what is there. `timeout`: stop after so many seconds without a result of any query.
    `brokers`, `prefix`, `data`: the system, as `--brokers`, `--prefix` and `--data` of the command name it.

    Raises UnavailableError if nothing runs there; LogError; InputError for a start that does not fit.
    """
    from saffron.runtime.local.state import connect

    settings = connect(config.load({"data": data, "bootstrap": brokers, "prefix": prefix}))
    names = frozenset([queries] if isinstance(queries, str) else queries) if queries is not None else None
    log = kafka_log.connect(settings)
    try:
        subscription = Subscription(log, settings, names, timeout, end=end)
        subscription.begin(start)
    except BaseException:
        log.close()
        raise
    return subscription
