"""Credits: how far the shedder may run ahead of the readers of its output, so that the queue stands in front of it.

For each chain the readers (matcher, greta) say in their `load` how far they have applied. The slowest of the readers
that are alive and have active queries limits the flow. A silent reader is not waited for: it delays its own queries
only, and finds its backlog in the topic when it comes back.
"""

from __future__ import annotations

from dataclasses import dataclass

_GONE = 20
"""Times the patience (a minute): a reader that has been silent for so long is taken to stay away."""


@dataclass(frozen=True)
class _Reader:
    """The last report of a reader: next sequence number to apply, whether it has active queries, its time (ms)."""

    applied: int
    active: bool
    heard_ms: int


class Credits:
    """Book-keeping of one chain. Positions are next sequence numbers; times are the caller's clock, in ms."""

    def __init__(self, window: int, *, start: int = 0, patience_ms: int = 3000) -> None:
        """Allow `window` events in flight; a reader silent for longer than `patience_ms` counts as dead.

        `start`: position up to which the output was written when this member took over.
        """
        self._window = window
        self._patience = patience_ms
        self._forwarded = start
        self._start = start
        self._readers: dict[str, _Reader] = {}

    def forwarded(self, next_seq: int) -> None:
        """Record that the output reaches up to `next_seq`."""
        self._forwarded = max(self._forwarded, next_seq)

    def applied(self, reader: str, next_seq: int, *, active: bool, now_ms: int) -> None:
        """Take a reader's load message. After a restart it may report an earlier position: the later message counts."""
        self._readers[reader] = _Reader(next_seq, active, now_ms)

    def in_flight(self, now_ms: int) -> int:
        """Events forwarded and not yet applied by the slowest reader that is waited for.

        When none is, counted from the furthest of those that had queries when they fell silent: the queue stays in
        front of them. Not for ever, since queries that are added for others stand in it, too: after `_GONE` times the
        patience, and where none had any, from the furthest of all.
        """
        readers = self._readers.values()
        waited_for = [reader.applied for reader in readers if self._rules(reader, now_ms)]
        if waited_for:
            return max(0, self._forwarded - min(waited_for))
        awaited = now_ms - _GONE * self._patience
        with_queries = [reader.applied for reader in readers if reader.active and reader.heard_ms >= awaited]
        known = with_queries or [reader.applied for reader in readers]
        return max(0, self._forwarded - max((*known, self._start)))

    def admits(self, events: int, now_ms: int) -> bool:
        """True if a block of `events` events may go now; one larger than the whole window goes when nothing flies."""
        in_flight = self.in_flight(now_ms)
        return in_flight == 0 or events == 0 or in_flight + events <= self._window

    def _rules(self, reader: _Reader, now_ms: int) -> bool:
        return reader.active and now_ms - reader.heard_ms <= self._patience
