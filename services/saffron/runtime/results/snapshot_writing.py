"""The snapshots of one chain as they are written: one at a time, on another thread."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from time import perf_counter_ns

from saffron.runtime.process.background import Background
from saffron.runtime.results.snapshots import Snapshot, Snapshots
from saffron.runtime.results.tally import Tally


class SnapshotWriting:
    """The snapshot that is being written, and when the next one is due.

    `executor`: runs writes. `every_ms`: between two snapshots. Pauses and sizes are measured in `tally`.
    """

    def __init__(self, snapshots: Snapshots, executor: Background, every_ms: int, tally: Tally) -> None:
        self._snapshots = snapshots
        self._executor = executor
        self._every_ms = every_ms
        self._tally = tally
        self._future: Future[None] | None = None
        self._at = self._position = 0

    def begin_at(self, position: int, now_ms: int) -> None:
        """The state as it is now can be restored from what is there."""
        self._at, self._position = now_ms, position

    def age(self, position: int, now_ms: int) -> int:
        """Age of the newest snapshot in ms (before the first: time since the take-over); 0 if nothing was applied
        since.
        """
        return 0 if position == self._position else max(0, now_ms - self._at)

    def is_due(self, now_ms: int) -> bool:
        """True if a snapshot may be written now, and is due. OSError: writing the last one failed."""
        if self._future is not None and self._future.done():
            self.wait()
        return self._future is None and now_ms - self._at >= self._every_ms

    def write(self, make: Callable[[], Snapshot], now_ms: int) -> None:
        """Writes the snapshot that `make` copies the state into."""
        began = perf_counter_ns()
        snapshot = make()
        self._future = self._executor(lambda: self._snapshots.write(snapshot))
        self._tally.snapshot_ms.append((perf_counter_ns() - began) / 1e6)
        self.begin_at(snapshot.position, now_ms)

    def wait(self) -> None:
        """Waits for the snapshot that is being written, if any. OSError: writing failed."""
        if self._future is not None:
            self._future.result()
            self._future = None

    def forget(self) -> None:
        """Waits for nothing any more."""
        self._future = None
