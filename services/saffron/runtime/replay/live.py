"""A replay that is fed by hand: events come one by one or in batches, and their results at once.

It is the chain of a replay with one partition. Records that windowing may ask for again are kept, so that a snapshot
can be taken between any two batches. As for an operator behind Kafka, where it was cut changes no answer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from saffron.engine.events.raw import RawBatch, batch_of_values
from saffron.engine.events.schema_record import schema_to_record
from saffron.engine.operators.operator import State
from saffron.engine.windows.dead_letters import DeadLetter
from saffron.errors import FailedError, InputError
from saffron.runtime.replay.both import Merged
from saffron.runtime.replay.replay import Replay

_CHAIN, _VALUES, _ENDS = "chain.", "values", "ends"
"""Names in a snapshot: before those of the chain, and of the records to be read again."""


@dataclass(frozen=True)
class LiveState:
    """A snapshot. `about`: whose it is, and the records to be read again, as JSON values; `arrays`: the rest."""

    about: Mapping[str, Any]
    arrays: State


class LiveReplay:
    """A replay in one partition, fed by hand. `run`: its queries and settings; `state`: the snapshot to go on from.

    `failed`: by name why a query has failed.

    QueryError: a query does not bind. InputError: the snapshot is of other queries or settings.
    """

    def __init__(self, run: Replay, state: LiveState | None = None) -> None:
        self._run = run
        (self._chain,) = run.begin()
        self._next = 0
        self._again: deque[RawBatch] = deque()
        self.failed: dict[str, str] = {}
        if state is not None:
            self._restore(state)
        self._known = self._chain.windowing.schema

    def feed(self, batch: RawBatch) -> Iterator[Merged]:
        """Take a batch; returns the results that it completes. Its offsets are ignored."""
        self._require_queries()
        if not len(batch):
            return
        batch = batch.numbered(self._next)
        self._next += len(batch)
        self._again.append(batch)
        yield from self._chain.feed(batch)
        self._settle()

    def advance(self, ts: int) -> Iterator[Merged]:
        """Results that event time `ts` completes: no event with a smaller one will come."""
        self._require_queries()
        yield from self._chain.advance(ts)
        self._settle()

    def finish(self) -> Iterator[Merged]:
        """Results that the end of the stream completes."""
        self._require_queries()
        yield from self._chain.finish()

    def dead_letters(self) -> list[DeadLetter]:
        """Bad and late events since the last call."""
        return list(self._chain.dead_letters())

    def failures(self) -> dict[str, str]:
        """The queries that have failed or been rejected since the last call, with the reason. The others go on."""
        new = {one.name: one.reason for one in self._chain.engines.failed}
        for notice in self._chain.windowing.take_notices():
            if notice.state in ("rejected", "failed"):
                new[notice.name] = notice.reason or notice.state
        new = {name: reason for name, reason in new.items() if name not in self.failed}
        self.failed |= new
        return new

    def unseen(self) -> dict[str, str]:
        """The names in each query that no event has had yet, as a sentence."""
        found = {name: self._chain.windowing.reported(name) for name in self._run.names if name not in self.failed}
        return {name: report for name, report in found.items() if report}

    def reports(self, way: str) -> Iterator[str]:
        """Messages at the end for the user, on values that were not kept. `way`: the means to state the right kind."""
        yield from self._run.reports(way)

    # ------------------------------------------------------------ snapshots

    def snapshot(self) -> LiveState:
        """All state between two batches."""
        chain = {f"{_CHAIN}{name}": array for name, array in self._chain.snapshot().items()}
        first = self._chain.windowing.needed
        batches = [batch.take(np.flatnonzero(batch.offsets >= first)) for batch in self._again]
        values = [batch.value(row) for batch in batches for row in range(len(batch))]
        refused = {at: why for batch in batches for at, why in batch.refused.items() if at >= first}
        about = {
            **self._settings(),
            "first": first,
            "next": self._next,
            "failed": self.failed,
            "refused": [[at, *why] for at, why in refused.items()],
        }
        made = batch_of_values(values)
        return LiveState(about, {**chain, _VALUES: made.buffer, _ENDS: made.ends})

    def _restore(self, state: LiveState) -> None:
        """Take over a snapshot, and feed the kept records to the chain again; they give no results.

        InputError: the snapshot was taken with other queries or settings.
        """
        self._require(state.about)
        chain = {name[len(_CHAIN) :]: array for name, array in state.arrays.items() if name.startswith(_CHAIN)}
        self._chain.restore(chain)
        self.failed = dict(state.about["failed"])
        self._next = state.about["next"]
        ends = np.asarray(state.arrays[_ENDS], dtype=np.int64)
        starts = np.concatenate([[0], ends[:-1]]).astype(np.int64) if len(ends) else ends
        first = state.about["first"]
        refused = {at: (reason, detail) for at, reason, detail in state.about["refused"]}
        offsets = np.arange(first, first + len(ends), dtype=np.int64)
        buffer = np.asarray(state.arrays[_VALUES], dtype=np.uint8)
        if len(ends):
            batch = RawBatch(buffer, starts, ends, offsets, refused=refused)
            self._again.append(batch)
            again = sum(map(len, self._chain.feed(batch)))
            assert not again, "what is read again has its results already"

    def _settings(self) -> dict[str, Any]:
        """The settings that a snapshot and its continuation must have in common."""
        run = self._run
        return {
            "queries": [[name, plan.text] for name, plan in zip(run.names, run.plans, strict=True)],
            "schema": None if run.schema is None else schema_to_record(run.schema),
            "disorder": run.disorder,
            "lenient": run.lenient,
        }

    def _require(self, about: Mapping[str, Any]) -> None:
        for name, mine in self._settings().items():
            if about.get(name) != mine:
                told = f": {about.get(name)!r}, not {mine!r}" if name != "schema" else ""
                raise InputError(f"the snapshot was taken with other {name}{told}; open it with those, or without it")

    # ------------------------------------------------------------ inside

    def _settle(self) -> None:
        """Drop the records that nobody will read again. Warn of what a schema that has grown says of the queries."""
        schema = self._chain.windowing.schema
        if schema is not None and schema is not self._known:
            self._known = schema
            self._run.warn_under(schema)
        first = self._chain.windowing.needed
        while self._again and int(self._again[0].offsets[-1]) < first:
            self._again.popleft()

    def _require_queries(self) -> None:
        """Raises the errors of the queries, once none of them is left."""
        if len(self.failed) < len(self._run.names):
            return
        self._chain.engines.raise_failure()
        raise FailedError("; ".join(self.failed.values()))
