"""What the builder keeps of a query's partial matches: counts, samples of times, what its published model rests on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from saffron.engine.models.bodies import costs_body, costs_of
from saffron.engine.models.transitions.drift import Cells, Clumps
from saffron.engine.models.transitions.observations import FORKED
from saffron.engine.models.transitions.trainer import TransitionCounts
from saffron.engine.models.transitions.transition_costs import TransitionCosts
from saffron.model_builder.rows import FOLLOWED, PRODUCT, SAMPLE, TIMED, TRANSITION, Row


@dataclass
class QueryBook:
    """One query: its counts, the last batch that had any, and what the model published last was trained on.

    `in_force` is what its counts were, without samples of times, and `published_times` ns of an event met by state;
    None and empty while there is none. What is forgotten of the counts is forgotten of `in_force`, too, so that it
    stays part of them, and what is more in the counts came since. `since_halved`: batches that added to them since half
    was forgotten. `batch`: transitions of the batch that is being added, `clumps`: what batches before tell of chance.
    """

    counts: TransitionCounts
    touched: int
    in_force: TransitionCounts | None = None
    published_times: tuple[float, ...] = ()
    since_halved: int = 0
    batch: dict[tuple[int, int], int] = field(default_factory=dict)
    clumps: Clumps = field(default_factory=Clumps)

    def add(self, row: Row) -> bool:
        """Apply a row of this query and version; False if it is no good, which changes nothing."""
        counts = self.counts
        if row.kind == TRANSITION:
            return self._add_transition(row)
        if row.kind in (SAMPLE, TIMED, PRODUCT):
            return self._add_times(row)
        if row.kind == FOLLOWED:
            return self._add_followed(row)
        counts.events += row.count or 0
        counts.lived += row.time or 0
        return True

    def close(self) -> None:
        """The batch is whole."""
        if self.batch:
            self.clumps.add(self.batch)
            self.batch = {}

    def publish(self, times: tuple[float, ...]) -> None:
        """A model of the counts as they are now is in force; `times`: what an event takes by state."""
        counts = self.counts
        self.in_force = replace(
            counts, cells=dict(counts.cells), followed=dict(counts.followed), costs=TransitionCosts()
        )
        self.published_times = times

    def halve(self) -> None:
        """Forget half of everything."""
        self.counts.halve()
        self.clumps.halve()
        self.since_halved = 0
        if self.in_force is not None:
            self.in_force.halve()

    def _add_transition(self, row: Row) -> bool:
        if row.a is None or row.b is None or row.count is None or not self.counts.add(row.a, row.b, row.count):
            return False
        self.batch[row.a, row.b] = self.batch.get((row.a, row.b), 0) + row.count
        return True

    def _add_times(self, row: Row) -> bool:
        costs, one, other = self.counts.costs, self._cell(row.a, row.b), self._cell(row.c, row.d)
        if row.count is None or row.time is None or row.total is None:
            return False
        if row.kind == SAMPLE:
            costs.add_samples(row.count, row.time)
        elif one is None or other is None:
            return False
        elif row.kind == TIMED:
            costs.add_moment(one, row.count, row.total)
        else:
            costs.add_product(min(one, other), max(one, other), row.total)
        return True

    def _add_followed(self, row: Row) -> bool:
        """What came of partial matches that were followed."""
        if row.a is None or row.b is None or row.count is None or row.time is None:
            return False
        return self.counts.add_followed(row.a, row.b, row.count, row.time)

    def _cell(self, source: int | None, target: int | None) -> tuple[int, int] | None:
        """A transition whose time is asked for; None if this automaton has none such."""
        states = self.counts.states
        if source is None or target is None or not (0 <= source < states and FORKED < target < states):
            return None
        return source, target

    def body(self) -> dict[str, Any]:
        """Everything, JSON-able."""
        counts = self.counts
        return {
            "query": counts.query,
            "query_version": counts.query_version,
            "states": counts.states,
            "window_size": counts.window_size,
            "window_events": counts.window_events,
            **_sums(counts),
            "costs": costs_body(counts.costs),
            "touched": self.touched,
            "in_force": None if self.in_force is None else _sums(self.in_force),
            "published_times": self.published_times,
            "since_halved": self.since_halved,
            "clumps": [self.clumps.statistic, self.clumps.freedom, _cells(self.clumps.latest)],
        }

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> QueryBook:
        """The book whose `body` this is. Of older builders' books it is not known what the model in force rests on."""
        empty = TransitionCounts(
            body["query"], body["query_version"], body["states"], body["window_size"], body["window_events"]
        )
        in_force = body.get("in_force")
        return cls(
            replace(_with_sums(empty, body), costs=costs_of(body["costs"])),
            body["touched"],
            None if in_force is None else _with_sums(empty, in_force),
            tuple(body["published_times"]),
            body.get("since_halved", 0),
            clumps=_clumps(*body.get("clumps", (0.0, 0.0, ()))),
        )


def _sums(counts: TransitionCounts) -> dict[str, Any]:
    """What is counted, but for samples of times, JSON-able."""
    return {
        "events": counts.events,
        "lived": counts.lived,
        "cells": _cells(counts.cells),
        "followed": [[*cell, *sums] for cell, sums in sorted(counts.followed.items())],
    }


def _with_sums(empty: TransitionCounts, body: Mapping[str, Any]) -> TransitionCounts:
    return replace(
        empty,
        events=body["events"],
        lived=body["lived"],
        cells=_cells_of(body["cells"]),
        followed={(state, age): (n, found) for state, age, n, found in body.get("followed", ())},
        costs=TransitionCosts(),
    )


def _clumps(statistic: float, freedom: float, latest: Iterable[Sequence[int]]) -> Clumps:
    return Clumps(_cells_of(latest), statistic, freedom)


def _cells(cells: Cells) -> list[list[int]]:
    return [[*cell, count] for cell, count in sorted(cells.items())]


def _cells_of(body: Iterable[Sequence[int]]) -> dict[tuple[int, int], int]:
    return {(source, target): count for source, target, count in body}
