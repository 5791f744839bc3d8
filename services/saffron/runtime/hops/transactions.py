"""The transactions of one chain: one is open while the one before is committed on another thread."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from saffron.runtime.hops.when_written import Report, WhenWritten
from saffron.runtime.log import Committed, Consumer, Log, Producer, TopicPartition
from saffron.runtime.process.background import Background
from saffron.runtime.process.search import Search


class Transactions:
    """The producer of a chain's results, which go out in one transaction with the position in its input `where`.

    `executor`: runs commits. `start_executor`: starts producers. `clock`: ms since 1970, for measuring. `committed`:
    called with the start and end time (ms) of each commit. `when_written`: counts of what is in a transaction, which
    `report` gets once it is committed. After a LogError the outcome is unknown: `close`, then `take_over` again, which
    finds it out.
    """

    def __init__(
        self,
        log: Log,
        consumer: Consumer,
        where: TopicPartition,
        transactional_id: str,
        executor: Background,
        start_executor: Background,
        clock: Callable[[], float],
        report: Report,
        committed: Callable[[float, float], None] = lambda began, ended: None,
    ) -> None:
        self._log = log
        self._consumer = consumer
        self._where = where
        self._id = transactional_id
        self._executor = executor
        self._clock = clock
        self._committed = committed
        self._start: Search[Producer] = Search(start_executor)
        self._producer: Producer | None = None
        self._future: Future[tuple[float, float]] | None = None
        self._waited_ms = 0.0
        self.is_open = False
        self.when_written: WhenWritten[Committed] = WhenWritten(report)

    @property
    def producer(self) -> Producer:
        """The producer, after `take_over`."""
        assert self._producer is not None
        return self._producer

    @property
    def has_begun(self) -> bool:
        """True if a transaction is open, or the outcome of the last one is not known."""
        return self.is_open or self.when_written.waits

    @property
    def is_committed(self) -> bool:
        """True if no transaction is open, and the last one is known to be committed."""
        return self._future is None and not self.is_open

    @property
    def waited_ms(self) -> float:
        """Total time waited for room in the producer's queue, in ms."""
        return self._waited_ms + (self._producer.waited_ms if self._producer is not None else 0.0)

    def take_over(self) -> None:
        """Starts a producer, if there is none, which ends and fences the predecessor's transaction.

        What the committed position then is says whether the chain's last transaction was committed. SearchError: the
        broker has not answered yet, and other chains must not wait for it; call again.
        """
        if self._producer is None:
            self._producer = self._start.outcome(
                lambda check: self._log.producer(self._id, client_id=self._id), "the coordinator of its transactions"
            )
        if self.when_written.waits:
            position = self._consumer.committed(self._where)
            if self.when_written.settle(lambda mark: mark == position):
                now = self._clock()
                self._committed(now, now)

    def begin(self) -> None:
        """Begins a transaction if none is open, after the last one is committed."""
        if not self.is_open:
            self.wait()
            self.producer.begin()
            self.is_open = True

    def commit(self, position: Committed) -> None:
        """Ends the open transaction with a position, on another thread."""
        producer, membership = self.producer, self._consumer.membership()
        self.when_written.seal(position)
        self._future = self._executor(lambda: self._end(producer, position, membership))
        self.is_open = False

    def _end(self, producer: Producer, position: Committed, membership: Any) -> tuple[float, float]:
        """Commits; returns start and end time in ms. May run on any thread, so it must not use the consumer."""
        began = self._clock()
        producer.send_offsets({self._where: position}, membership)
        producer.commit()
        return began, self._clock()

    def settle(self) -> bool:
        """True if no commit is under way any more. LogError: the outcome of the last one is unknown."""
        if self._future is not None and not self._future.done():
            return False
        self.wait()
        return True

    def wait(self) -> None:
        """Waits until the last transaction is committed. LogError: its outcome is unknown."""
        if self._future is not None:
            ending, self._future = self._future, None
            began, ended = ending.result()
            self.when_written.written()
            self._committed(began, ended)

    def close(self) -> None:
        """Drops the producer. An open transaction is aborted when the successor's producer starts."""
        self.when_written.drop()
        self._waited_ms = self.waited_ms
        if self._producer is not None:
            self._producer.close()
        self._producer, self._future, self.is_open = None, None, False

    def give_up(self) -> None:
        """Drops a producer that is still being made: the partition is another member's."""
        self._start.give_up(lambda producer: producer.close())
