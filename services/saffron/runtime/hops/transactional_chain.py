"""The life of a chain that writes in transactions: take-over, work, restart after a failure, release.

take over         a producer with the partition's transactional id, which ends and fences the predecessor's transaction.
                  Then the committed position says where the chain goes on. Until that is known, the producer stays
work              what is made of the input goes into a transaction with the position reached
unknown outcome   whatever happens to a transaction, all state is dropped; then the chain takes over again
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from saffron.errors import LogError
from saffron.runtime.hops.flow import Flow
from saffron.runtime.hops.input_state import InputTracker
from saffron.runtime.hops.retry_state import RetryState
from saffron.runtime.hops.transactions import Transactions
from saffron.runtime.hops.when_written import Report
from saffron.runtime.log import Committed, Consumer, Log, Record, TopicPartition
from saffron.runtime.process.background import Background, at_once
from saffron.runtime.process.search import Search
from saffron.runtime.telemetry.metric_names import TRANSACTION_ABORTS


@dataclass(frozen=True)
class Holding:
    """The partition that a chain holds, and how.

    `retry_ms`: wait after being fenced. `commit_executor`: runs commits. `report`: adds to counters.
    `search_executor`: runs searches for last records, one at a time. `start_executor`: starts producers, none of which
    waits for another.
    """

    where: TopicPartition
    transactional_id: str
    retry_ms: int
    commit_executor: Background
    report: Report
    search_executor: Background = at_once
    start_executor: Background = at_once


class TransactionalChain(ABC):
    """The work on one assigned partition, for `LastHop`.

    A chain takes over in its first `step`, and again after any transaction with an unknown outcome. Subclasses say what
    taking over, a step of work, and the last commit are, and what to forget.
    """

    def __init__(self, log: Log, consumer: Consumer, holding: Holding, clock: Callable[[], float]) -> None:
        """`clock`: ms since 1970, for measuring only."""
        where = holding.where
        self._log = log
        self._consumer = consumer
        self._holding = holding
        self._retry = RetryState(where, holding.retry_ms, self._reset, self._blame)
        self._flow = Flow(consumer, where)
        self._search: Search[Record | None] = Search(holding.search_executor)
        self._transactions = Transactions(
            log,
            consumer,
            where,
            holding.transactional_id,
            holding.commit_executor,
            holding.start_executor,
            clock,
            holding.report,
            self._written,
        )
        self._queue: deque[Record] = deque()
        self._is_taken_over = False
        self.input = InputTracker()
        self.position = 0

    # ------------------------------------------------------------ what the shell calls

    @property
    def trouble(self) -> str | None:
        """An obstacle that only the user can remove, or None."""
        return self._retry.trouble

    @property
    def is_taken_over(self) -> bool:
        """True if the chain has its position, and goes on from there."""
        return self._is_taken_over

    @property
    def waited_ms(self) -> float:
        """Total time waited for room in the producer's queue, in ms."""
        return self._transactions.waited_ms

    def take(self, records: Sequence[Record]) -> None:
        """Accepts input records in order.

        Until the chain has taken over, all records are ignored: they are read again after its seek. From then on those
        with an offset below `position` are.
        """
        if self._is_taken_over:
            self._queue.extend(record for record in records if record.offset >= self.position)

    def step(self, now_ms: int) -> bool:
        """One step of work; True if there was any that somebody waits for."""
        if self._is_taken_over:
            return self._retry.run(now_ms, self._advance)
        return now_ms >= self._retry.retry_at and self._retry.run(now_ms, self._begin_anew)

    def restart(self) -> None:
        """Takes over again, because the input has changed: retention removed the next record, or the topic is a new
        one.
        """
        if self._is_taken_over:
            self._reset()

    @abstractmethod
    def due(self, now_ms: int) -> int:
        """Time in ms until a commit is due (0 or less: now), if no more input comes."""

    def release(self, now_ms: int) -> None:
        """Commits, and hands the partition over to another member."""

        def finish(now: int) -> bool:
            self._finish(now)
            return True

        if self._is_taken_over:
            self._retry.run(now_ms, finish)
        self.drop()

    def drop(self) -> None:
        """Drops all state: the chain ends. An open transaction is aborted when the successor's producer starts."""
        self._search.give_up()
        self._transactions.give_up()
        self._transactions.close()
        self._clear()

    # ------------------------------------------------------------ what differs

    @abstractmethod
    def _take_over(self, now_ms: int) -> InputTracker:
        """Restores the state as it was at the committed position, and sets `position`; returns what the input is."""

    @abstractmethod
    def _advance(self, now_ms: int) -> bool:
        """One step after the take-over; False if there was nothing to do, or nothing that somebody waits for."""

    @abstractmethod
    def _finish(self, now_ms: int) -> None:
        """Commits all that was done, and waits for it."""

    @abstractmethod
    def _forget(self) -> None:
        """Forgets what belongs to the open transaction, or was made of the input."""

    def _committed(self, began_ms: float, ended_ms: float) -> None:
        """Called when a transaction was committed, from `began_ms` to `ended_ms`."""
        del began_ms, ended_ms

    def _blame(self, error: LogError) -> bool:
        """True if the chain goes on without what the broker refuses."""
        del error
        return False

    # ------------------------------------------------------------ inside

    def _written(self, began_ms: float, ended_ms: float) -> None:
        self._retry.obstacle.written()
        self._committed(began_ms, ended_ms)

    def _begin_anew(self, now_ms: int) -> bool:
        """Takes the partition over, and seeks the input to its position."""
        self._search.check()
        self._transactions.take_over()
        self.input = self._take_over(now_ms)
        self._consumer.seek(self._holding.where, self.position)
        self._flow.pause(False)
        self._is_taken_over = True
        return True

    def _commit_at(self, position: Committed) -> None:
        """Ends the open transaction with a position, which has the state of the input."""
        self.input.count(self._holding.where, self._transactions.when_written)
        self._transactions.commit(position)

    def _reset(self) -> None:
        """Drops all state and pauses the input, before another take-over.

        A chain that did not get its position has written nothing. It keeps its producer, since it may stand for long.
        """
        if self._is_taken_over:
            if self._transactions.has_begun:
                self._holding.report(TRANSACTION_ABORTS, 1)
            self._transactions.close()
        self._clear()
        self._flow.pause(True)

    def _clear(self) -> None:
        self._is_taken_over = False
        self._queue.clear()
        self._forget()
