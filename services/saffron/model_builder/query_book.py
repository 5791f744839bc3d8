"""The state of a query's model of partial matches: counts, samples of times, the basis of the published model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from saffron.engine.models.bodies import costs_body, costs_of
from saffron.engine.models.transitions.drift import Cells, Clumps
from saffron.engine.models.transitions.observations import FORKED
from saffron.engine.models.transitions.trainer import TransitionCounts
from saffron.engine.models.transitions.transition_costs import TransitionCosts
from saffron.model_builder.cell_sums import FOLLOWED, PRODUCT, SAMPLE, TIMED, TRANSITION, Row


@dataclass
class QueryBook:
    """The state of one query.

    `touched`: the last batch that updated it. `since_halved`: number of batches that did since counts were halved.
    `in_force`: the counts that the model published last was trained on, without samples of times; None without one.
    It is halved with `counts`, so the difference is always what came since.
    `published_times`: by state, the ns that an event took then.
    `batch`: transitions of the current batch. `clumps`: a measure of chance from earlier batches.
    """

    counts: TransitionCounts
    touched: int
    in_force: TransitionCounts | None = None
    published_times: tuple[float, ...] = ()
    since_halved: int = 0
    batch: dict[tuple[int, int], int] = field(default_factory=dict)
    clumps: Clumps = field(default_factory=Clumps)

    def add(self, row: Row) -> bool:
        """Apply a row of this query and version; False if it is invalid, which changes nothing."""
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
        """End the current batch."""
        if self.batch:
            self.clumps.add(self.batch)
            self.batch = {}

    def publish(self, times: tuple[float, ...]) -> None:
        """Note that a model of the current counts is published. `times`: by state, the ns that an event takes."""
        counts = self.counts
        self.in_force = replace(
            counts, cells=dict(counts.cells), followed=dict(counts.followed), costs=TransitionCosts()
        )
        self.published_times = times

    def halve(self) -> None:
        """Halve all counts."""
        self.counts.halve()
        self.clumps.halve()
        self.since_halved = 0
        if self.in_force is not None:
            self.in_force.halve()

    def _add_transition(self, row: Row) -> bool:
        """Add transitions; False if the row is invalid."""
        if row.a is None or row.b is None or row.count is None or not self.counts.add(row.a, row.b, row.count):
            return False
        self.batch[row.a, row.b] = self.batch.get((row.a, row.b), 0) + row.count
        return True

    def _add_times(self, row: Row) -> bool:
        """Add sums of sampled times; False if the row is invalid."""
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
        """Add the outcomes of tracked partial matches."""
        if row.a is None or row.b is None or row.count is None or row.time is None:
            return False
        return self.counts.add_followed(row.a, row.b, row.count, row.time)

    def _cell(self, source: int | None, target: int | None) -> tuple[int, int] | None:
        """A transition as (source, target); None if this automaton has no such transition."""
        states = self.counts.states
        if source is None or target is None or not (0 <= source < states and FORKED < target < states):
            return None
        return source, target

    def body(self) -> dict[str, Any]:
        """The book as JSON values."""
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
        """The book of a `body`. Books of older builders have no counts in force."""
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
    """The counts without samples of times, as JSON values."""
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
