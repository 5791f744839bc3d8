"""The snapshots of one chain as they are written: one at a time, on another thread."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future
from time import perf_counter_ns

from saffron.runtime.process.background import Background
from saffron.runtime.results.snapshots import Snapshot, Snapshots
from saffron.runtime.results.tally import Tally

_LOG = logging.getLogger(__name__)


class SnapshotWriting:
    """The snapshot that is being written, and when the next one is due.

    `executor`: runs writes. `every_ms`: between two snapshots. Pauses and sizes are measured in `tally`. A snapshot
    that cannot be written is logged, and tried again when the next one is due: results go on without it.
    """

    def __init__(self, snapshots: Snapshots, executor: Background, every_ms: int, tally: Tally) -> None:
        self._snapshots = snapshots
        self._executor = executor
        self._every_ms = every_ms
        self._tally = tally
        self._future: Future[None] | None = None
        self._at = self._position = 0
        self._tried_at = 0
        self._before = (0, 0)

    def begin_at(self, position: int, now_ms: int) -> None:
        """The state as it is now can be restored from what is there."""
        self._at = self._tried_at = now_ms
        self._position = position

    def age(self, position: int, now_ms: int) -> int:
        """Age of the newest snapshot in ms (before the first: time since the take-over); 0 if nothing was applied
        since.
        """
        self._take_outcome()
        return 0 if position == self._position else max(0, now_ms - self._at)

    def is_due(self, now_ms: int) -> bool:
        """True if a snapshot may be written now, and is due."""
        self._take_outcome()
        return self._future is None and now_ms - self._tried_at >= self._every_ms

    def write(self, make: Callable[[], Snapshot], now_ms: int) -> None:
        """Writes the snapshot that `make` copies the state into."""
        began = perf_counter_ns()
        snapshot = make()
        self._future = self._executor(lambda: self._snapshots.write(snapshot))
        self._tally.snapshot_ms.append((perf_counter_ns() - began) / 1e6)
        self._before = self._at, self._position
        self.begin_at(snapshot.position, now_ms)

    def wait(self) -> None:
        """Waits for the snapshot that is being written, if any."""
        if self._future is None:
            return
        try:
            self._future.result()
        except OSError as error:
            self._at, self._position = self._before
            _LOG.error("a snapshot cannot be written, and is tried again: %s", error)
        self._future = None

    def _take_outcome(self) -> None:
        if self._future is not None and self._future.done():
            self.wait()
