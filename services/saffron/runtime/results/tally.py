"""What a chain of the last hop has done and how long it took; for `load`, metrics and the digest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from saffron.engine.operators.results import Results

Milliseconds = NDArray[np.float64]


@dataclass
class Tally:
    """Counts since the chain was assigned. Results count when they are committed; latencies are kept until drained.

    `stages`: by stage, ms of each block: "apply" from its record's time in the log until it is applied, "commit" (of
    blocks with results) from there until the last of them is committed. `snapshot_ms`: for how long each snapshot held
    the chain up. `writing_ns`: by query, to write its results, since it was drained. `slowest_commit_ms`: the longest
    of the stage "commit" since it was set to 0. `too_large`: results in whose place a dead letter stands.
    """

    events: int = 0
    results: int = 0
    too_large: int = 0
    processing_ns: int = 0
    writing_ns: dict[str, int] = field(default_factory=dict)
    commits: int = 0
    aborts: int = 0
    snapshot_bytes: int = 0
    latencies: dict[str, list[Milliseconds]] = field(default_factory=dict)
    stages: dict[str, list[float]] = field(default_factory=dict)
    snapshot_ms: list[float] = field(default_factory=list)
    slowest_commit_ms: float = 0.0
    _written: list[tuple[str, NDArray[np.int64]]] = field(default_factory=list)
    _finished: list[float] = field(default_factory=list)
    _left_out: int = 0

    def applied(self, appended_ms: float, now_ms: float) -> None:
        """A block has been applied whose record has stood in the log since `appended_ms`."""
        self._stage("apply", now_ms - appended_ms)

    def wrote(
        self,
        results: Results,
        start: int,
        stop: int,
        nanoseconds: int,
        too_large: Sequence[int] = (),
        left_out: Sequence[int] = (),
    ) -> None:
        """Results start..stop-1 are in the open transaction (no loop over results), but for those `too_large`, and
        those `left_out`, of queries that have failed; writing them took so long."""
        queries, times = results.query[start:stop], results.last_time[start:stop]
        each = nanoseconds // max(1, stop - start)
        if too_large or left_out:
            missing = np.array([*too_large, *left_out]) - start
            queries, times = np.delete(queries, missing), np.delete(times, missing)
            self._left_out += len(too_large)
        for index, name in enumerate(results.names):
            mine = times[queries == index]
            if len(mine):
                self.writing_ns[name] = self.writing_ns.get(name, 0) + each * len(mine)
                self._written.append((name, mine))

    def finished(self, applied_ms: float) -> None:
        """All results of the block that was applied at `applied_ms` are in the open transaction, or before."""
        self._finished.append(applied_ms)

    def committed(self, now_ms: float) -> None:
        """The open transaction stands."""
        self.commits += 1
        self.too_large += self._left_out
        for name, times in self._written:
            self.results += len(times)
            self.latencies.setdefault(name, []).append(now_ms - times.astype(np.float64))
        for applied_ms in self._finished:
            self._stage("commit", now_ms - applied_ms)
            self.slowest_commit_ms = max(self.slowest_commit_ms, now_ms - applied_ms)
        self.forget()

    def forget(self) -> None:
        """The open transaction will never stand."""
        self._written.clear()
        self._finished.clear()
        self._left_out = 0

    def drain_latencies(self) -> dict[str, Milliseconds]:
        """Detection latencies by query, since the last call."""
        drained, self.latencies = self.latencies, {}
        return {name: np.concatenate(parts) for name, parts in drained.items()}

    def drain_writing(self) -> dict[str, int]:
        """ns by query, since the last call."""
        drained, self.writing_ns = self.writing_ns, {}
        return drained

    def drain_stages(self) -> dict[str, Milliseconds]:
        """By stage, since the last call."""
        drained, self.stages = self.stages, {}
        return {stage: np.array(values) for stage, values in drained.items()}

    def drain_snapshots(self) -> Milliseconds:
        """Since the last call."""
        drained, self.snapshot_ms = self.snapshot_ms, []
        return np.array(drained)

    def _stage(self, stage: str, milliseconds: float) -> None:
        self.stages.setdefault(stage, []).append(milliseconds)
