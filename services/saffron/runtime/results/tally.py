"""Counters and durations of one chain, for load reports, metrics and digests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from saffron.engine.operators.results import Results
from saffron.runtime.hops.when_written import Report, unreported
from saffron.runtime.results.large_results import REASON as TOO_LARGE
from saffron.runtime.telemetry.metric_kinds import Counter
from saffron.runtime.telemetry.metric_names import COMPLEX_EVENTS, DEAD_LETTERS

Milliseconds = NDArray[np.float64]


@dataclass
class Tally:
    """Counters since the chain was assigned.

    Results count once they are committed: `counter` is theirs, and `report` adds to it. Latencies are kept until
    drained. Results of the past, which a new query has seen, have none: their age tells nothing of the machine.

    `stages`: durations of each block in ms, by stage. "apply" is from the record's time in the log until the block is
    applied. "commit" is from there until its last result is committed, for blocks with results. `snapshot_ms`: the
    chain's pause for each snapshot. `writing_ns`: time to write results, by query, since drained. `slowest_commit_ms`:
    largest "commit" duration since it was set to 0. `too_large`: results replaced by a dead letter.
    """

    report: Report = unreported
    counter: Counter = COMPLEX_EVENTS
    events: int = 0
    results: int = 0
    too_large: int = 0
    processing_ns: int = 0
    writing_ns: dict[str, int] = field(default_factory=dict)
    commits: int = 0
    latencies: dict[str, list[Milliseconds]] = field(default_factory=dict)
    stages: dict[str, list[float]] = field(default_factory=dict)
    snapshot_ms: list[float] = field(default_factory=list)
    slowest_commit_ms: float = 0.0
    _written: list[tuple[str, int, NDArray[np.int64]]] = field(default_factory=list)
    _finished: list[float] = field(default_factory=list)
    _too_large_pending: int = 0

    def block_applied(self, appended_ms: float, now_ms: float) -> None:
        """Records a block as applied. `appended_ms`: its record's time in the log."""
        self._stage("apply", now_ms - appended_ms)

    def results_written(
        self,
        results: Results,
        start: int,
        stop: int,
        nanoseconds: int,
        too_large: Sequence[int] = (),
        excluded: Sequence[int] = (),
    ) -> None:
        """Records results start..stop-1 as part of the open transaction.

        `nanoseconds`: time to write them. `too_large`: rows replaced by a dead letter. `excluded`: rows of failed
        queries. There is no loop over results.
        """
        queries, times = results.query[start:stop], results.last_time[start:stop]
        past = results.past
        live = None if past is None else ~past[start:stop]
        each = nanoseconds // max(1, stop - start)
        if too_large or excluded:
            missing = np.array([*too_large, *excluded]) - start
            queries, times = np.delete(queries, missing), np.delete(times, missing)
            live = None if live is None else np.delete(live, missing)
            self._too_large_pending += len(too_large)
        for index, name in enumerate(results.names):
            own = queries == index
            mine = times[own]
            if count := len(mine):
                self.writing_ns[name] = self.writing_ns.get(name, 0) + each * count
                self._written.append((name, count, mine if live is None else mine[live[own]]))

    def block_finished(self, applied_ms: float) -> None:
        """Records that no result of the block applied at `applied_ms` is left to write."""
        self._finished.append(applied_ms)

    def transaction_committed(self, now_ms: float) -> None:
        """Counts the results of the transaction, committed at `now_ms`."""
        self.commits += 1
        self.too_large += self._too_large_pending
        self.report(DEAD_LETTERS, self._too_large_pending, TOO_LARGE)
        for name, count, times in self._written:
            self.results += count
            self.report(self.counter, count, name)
            if len(times):
                self.latencies.setdefault(name, []).append(now_ms - times.astype(np.float64))
        for applied_ms in self._finished:
            self._stage("commit", now_ms - applied_ms)
            self.slowest_commit_ms = max(self.slowest_commit_ms, now_ms - applied_ms)
        self.transaction_begun()

    def transaction_begun(self) -> None:
        """Begins the counts of a transaction. Those of one before that was not committed are discarded."""
        self._written.clear()
        self._finished.clear()
        self._too_large_pending = 0

    def counts(self) -> dict[str, int]:
        """The counters of a digest, by name."""
        return {"events": self.events, "results": self.results}

    def drain_latencies(self) -> dict[str, Milliseconds]:
        """Detection latencies in ms by query, since the last call."""
        drained, self.latencies = self.latencies, {}
        return {name: np.concatenate(parts) for name, parts in drained.items()}

    def drain_writing(self) -> dict[str, int]:
        """Writing time in ns by query, since the last call."""
        drained, self.writing_ns = self.writing_ns, {}
        return drained

    def drain_stages(self) -> dict[str, Milliseconds]:
        """Durations in ms by stage, since the last call."""
        drained, self.stages = self.stages, {}
        return {stage: np.array(values) for stage, values in drained.items()}

    def drain_snapshots(self) -> Milliseconds:
        """Pauses for snapshots in ms, since the last call."""
        drained, self.snapshot_ms = self.snapshot_ms, []
        return np.array(drained)

    def _stage(self, stage: str, milliseconds: float) -> None:
        self.stages.setdefault(stage, []).append(milliseconds)
