"""Features of events and matches (G2) of all queries of an operator, in a share of blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saffron.engine.events.block import Block, Control
from saffron.engine.match.core.stream import Range
from saffron.engine.match.general.watch import ONE_IN
from saffron.engine.match.output.render import Written
from saffron.engine.match.queries.registered import StandingMatchQuery
from saffron.engine.match.shedding.seen import Seen
from saffron.engine.operators.sampled import is_sampled

MOST_VECTORS = 1 << 18
MOST_EVENTS = 1 << 13
"""Events that rows tell of at once, a block more at most: to count and sort more takes over a hundredth of the time."""


class FeatureWatch:
    """The features of one partition's stream, as its blocks tell of them: keys beside events, the vectors behind keys.

    `announced`: the specification of the features and its identity, from the record "features" or a checkpoint; empty
    where none was. `one_in`: of so many blocks one is watched, by the hash of its first position.
    """

    def __init__(self, one_in: int = ONE_IN) -> None:
        self.announced: Mapping[str, Any] = {}
        self.one_in = one_in
        self._on = False
        self._events = 0
        self._vectors: dict[int, tuple[int, ...]] = {}
        self._seen: dict[str, Seen] = {}

    @property
    def spec(self) -> str:
        """The identity of the features."""
        return str(self.announced.get("spec", ""))

    def begin_block(self, block: Block) -> None:
        """Begin a block."""
        if len(self._vectors) > MOST_VECTORS:
            self._vectors.clear()
        self._vectors.update(block.features)
        sampled = is_sampled(block.first_seq, self.one_in)
        self._on = sampled and block.columns.key is not None and self._events < MOST_EVENTS
        self._events += len(block.columns) if self._on else 0

    def control(self, control: Control) -> None:
        """Take a control record."""
        if control.kind == "features":
            self._begin_anew(control.body)
        elif control.kind == "checkpoint" and control.body.get("features") is not None:
            self._begin_anew(control.body["features"])
            for seen in self._seen.values():
                seen.tell_again()
        elif control.kind == "query" and control.body["op"] in ("add", "remove"):
            self.forget(str(control.body["name"]))

    def forget(self, name: str) -> None:
        """Forget a query that begins anew or is removed."""
        self._seen.pop(name, None)

    def _begin_anew(self, body: Mapping[str, Any]) -> None:
        if body["spec"] != self.spec:
            self._seen = {}
        self.announced = dict(body)

    def advance(self, part: Range, standing: StandingMatchQuery) -> None:
        """Count the events that come to a query. Events masked for it, and the events after them, do not count."""
        runs = standing.active
        if part.columns.key is None or runs is None:
            return
        gone = part.dropped(standing.slot)
        if gone is not None:
            last = part.low + int(gone.nonzero()[0][-1])
            self.dropped(standing, int((part.columns.seq if runs.plan.window.events else part.columns.ts)[last]))
        self._settle(standing)
        if self._on:
            self._of(standing).events(part, runs.live)

    def found(self, standing: StandingMatchQuery, part: Written) -> None:
        """Count the features of the matches that a query reports."""
        if self._on:
            self._of(standing).matches(part)

    def dropped(self, standing: StandingMatchQuery, instant: int | None = None) -> None:
        """Record that something was dropped for a query, at an instant of its window's clock (None: now)."""
        runs = standing.runs
        if instant is None and runs is not None and runs.droppable is not None:
            instant = runs.droppable.clock
        if instant is not None and runs is not None:
            self._of(standing).dropped(instant)

    def _of(self, standing: StandingMatchQuery) -> Seen:
        assert standing.runs is not None
        if standing.name not in self._seen:
            self._seen[standing.name] = Seen(standing.runs.plan.window, standing.clean)
        return self._seen[standing.name]

    def _settle(self, standing: StandingMatchQuery) -> None:
        """Settle the events that were counted last, after the query has taken them."""
        seen, runs = self._seen.get(standing.name), standing.runs
        if seen is not None and seen.waits and runs is not None and runs.droppable is not None:
            negated = sum(1 << number for absence in runs.plan.absences for number in absence.components)
            seen.stored(runs.rows, negated)

    def rows(self, standing: StandingMatchQuery) -> list[Mapping[str, Any]]:
        """Rows of `observations.features` of a query since the last call."""
        self._events = 0
        if standing.name not in self._seen:
            return []
        self._settle(standing)
        row = self._seen[standing.name].row(self._vectors)
        shared = {"query": standing.name, "query_version": standing.version, **self.announced}
        return [] if row is None else [{**shared, **row}]
