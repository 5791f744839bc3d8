"""Observations of runs for the model builder (P2): transitions counted per event of the stream and run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saffron.engine.match.core.stream import Range
from saffron.engine.match.queries.registered import StandingMatchQuery


def transition_rows(standing: StandingMatchQuery) -> list[Mapping[str, Any]]:
    """Rows of `observations.transitions` since the last call; every event of the stream meets every run.

    States: 0 nothing bound, then those of the plan's automaton, m - 1 the match. In flat plans, c + 1 is component c
    bound, and all events are counted. In others the states are those of their table, then matches that wait for the end
    of their windows; only the blocks that are watched are counted (`general.watch.ONE_IN`). "nanoseconds": the time of
    the events counted.
    """
    runs = standing.runs
    if runs is None or runs.transitions is None:
        return []
    nanoseconds, standing.nanoseconds = standing.nanoseconds, 0
    cells, events, lived = runs.transitions.take()
    shared = {
        "query": standing.name,
        "query_version": standing.version,
        "states": runs.states,
        "window": {"size": runs.plan.window.size, "events": runs.plan.window.events},
        "events": events,
        "lived": 0 if runs.plan.window.events else lived,
        "nanoseconds": nanoseconds,
    }
    return [{**shared, "from": source, "to": target, "count": count} for (source, target), count in cells.items()]


def begin_block(standing: StandingMatchQuery, events: Range) -> None:
    """Begin a block of a query; its transitions are censored if an event of it, or of a window before, is masked.

    A run that a masked event would have advanced has not failed. Blocks in which no event happens to be masked are no
    fair sample either: they have no events of little utility.
    """
    runs = standing.runs
    if runs is None or runs.transitions is None:
        return
    instants = runs.store.instants(events)
    dropped = events.dropped(standing.slot)
    if dropped is not None:
        standing.clean = int(instants[dropped][-1]) + runs.plan.window.size + 1
    runs.transitions.censor(censored=dropped is not None or int(instants[0]) < standing.clean)


def end_block(standing: StandingMatchQuery) -> None:
    """End a block of a query."""
    if standing.runs is not None and standing.runs.transitions is not None:
        standing.runs.transitions.end_block()


def spent(standing: StandingMatchQuery, nanoseconds: int) -> None:
    """Record the time in which the query took events, if its transitions are counted too."""
    standing.taken += nanoseconds
    runs = standing.runs
    if runs is None or runs.transitions is None or runs.transitions.counting:
        standing.nanoseconds += nanoseconds
