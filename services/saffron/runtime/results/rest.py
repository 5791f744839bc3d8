"""The rest of a chain whose input no query reads: it takes the input in few large steps.

Where blocks come a hundred times a second, each costs its reader a request, a turn of the loop and a load report. A
chain without queries needs none of them at once: blocks only move its position, and say when a query comes. So it
leaves its input unread for `REST_MS` each time that it has read it to the end. What it reads, and in which order, is
the same: a rest changes no answer.
"""

from __future__ import annotations

from collections.abc import Callable

from saffron.runtime.log import Consumer, TopicPartition

REST_MS = 250


class Rest:
    """The rests of one chain. An input that brings nothing needs none: the chain waits for it, and reads it at once.

    `has_queries`: whether queries stand, or are registered and may stand soon.
    """

    def __init__(self, consumer: Consumer, where: TopicPartition, has_queries: Callable[[], bool]) -> None:
        self._consumer = consumer
        self._where = where
        self._has_queries = has_queries
        self._from = self._until = 0

    def begin_at(self, position: int) -> None:
        """The chain reads from `position` on."""
        self._from, self._until = position, 0

    @property
    def is_possible(self) -> bool:
        """True if nobody waits for what the chain reads."""
        return not self._has_queries()

    def is_on(self, position: int, now_ms: int) -> bool:
        """True if the input is left unread now. `position`: of the chain, which has applied all that it has read."""
        if not self.is_possible:
            return False
        if position != self._from and self._consumer.lag(self._where) == 0:
            self._from, self._until = position, now_ms + REST_MS
        return now_ms < self._until
