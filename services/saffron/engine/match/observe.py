"""What runs did, for the model builder (P2): transitions counted per event of the stream and run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saffron.engine.match.core.kernel_layout import BEGAN, LEFT, LIVED, MET, MOVED, place
from saffron.engine.match.core.kernel_layout import DIED as DEATHS
from saffron.engine.match.core.stream import Range
from saffron.engine.match.general.watch import DIED, FORKED, Cells
from saffron.engine.match.planning.table import flat_states
from saffron.engine.match.queries.kinds import Runs
from saffron.engine.match.queries.registered import Standing
from saffron.engine.match.runs.query_runs import QueryRuns


def states_of(runs: Runs | None) -> int | None:
    """How many states transitions of these runs have, the match included; None where none are told."""
    if not isinstance(runs, QueryRuns):
        return None
    if runs.watch is not None:
        return runs.watch.states
    return flat_states(runs.plan) if runs.program.flat else None


def transition_rows(standing: Standing) -> list[Mapping[str, Any]]:
    """Rows of `observations.transitions` since the last call. States: 0 nothing bound, then those of the plan's
    automaton, m - 1 the match; every event of the stream meets every run, most of them without effect.

    Flat plans: c + 1 is component c bound, all events are counted. Others: the states of their table, then matches that
    wait for the end of their windows, in the blocks that are watched (`general.watch.ONE_IN`). "nanoseconds": what the
    events counted took.
    """
    runs = standing.runs
    if not isinstance(runs, QueryRuns):
        return []
    nanoseconds, standing.nanoseconds = standing.nanoseconds, 0
    if runs.watch is not None:
        cells, events, lived = runs.watch.cells(), runs.watch.events, runs.watch.lived
        runs.watch.clear()
    elif _is_flat(runs):
        cells, events, lived = _since(standing, runs)
    else:
        return []
    shared = {
        "query": standing.name,
        "query_version": standing.version,
        "states": states_of(runs),
        "window": {"size": runs.plan.window.size, "events": runs.plan.window.events},
        "events": events,
        "lived": 0 if runs.plan.window.events else lived,
        "nanoseconds": nanoseconds,
    }
    return [{**shared, "from": source, "to": target, "count": count} for (source, target), count in cells.items()]


def begin_block(standing: Standing, events: Range) -> None:
    """A block comes. What runs do in it is not told if the query does not see all of its events, or one within a window
    before it: a run that a dropped event would have advanced has not failed. Blocks that happen to lose none are no
    sample: they are those without what is worth little."""
    runs = standing.runs
    standing.censored = None
    if not isinstance(runs, QueryRuns):
        return
    instants = events.seq if runs.plan.window.events else events.ts
    dropped = events.dropped(standing.slot)
    if dropped is not None:
        standing.clean = int(instants[dropped][-1]) + runs.plan.window.size + 1
    censored = dropped is not None or int(instants[0]) < standing.clean
    if runs.watch is not None:
        runs.watch.censored = censored
    elif censored and _is_flat(runs):
        standing.censored = _totals(runs)


def end_block(standing: Standing) -> None:
    """It has been taken: what was counted in a censored one counts as told."""
    runs, before = standing.runs, standing.censored
    standing.censored = None
    if before is None or not isinstance(runs, QueryRuns):
        return
    known = standing.reported or {}
    standing.reported = {name: known.get(name, 0) + total - before[name] for name, total in _totals(runs).items()}


def spent(standing: Standing, nanoseconds: int) -> None:
    """The query has taken events in that time: observations count it where they count what its runs did."""
    standing.taken += nanoseconds
    runs = standing.runs
    counts = not isinstance(runs, QueryRuns) or runs.watch is None or runs.watch.on
    if counts and standing.censored is None:
        standing.nanoseconds += nanoseconds


def told(standing: Standing) -> None:
    """What a query's runs have counted up to now was told, or is not to be."""
    runs = standing.runs
    if isinstance(runs, QueryRuns) and runs.program.flat:
        standing.reported = _totals(runs)


def _is_flat(runs: QueryRuns) -> bool:
    return bool(runs.pools) and runs.program.flat


def _since(standing: Standing, runs: QueryRuns) -> tuple[Cells, int, int]:
    """What happened since the last call, events, and what runs lived."""
    totals, before = _totals(runs), standing.reported or {}
    standing.reported = totals
    grown = {name: value - before.get(name, 0) for name, value in totals.items()}
    events, lived = grown.pop("events"), grown.pop("lived")
    cells = {_cell(name): count for name, count in grown.items() if count > 0}
    return cells, events, lived


def _cell(name: str) -> tuple[int, int]:
    source, target = name.split(">")
    return int(source), int(target)


def _totals(runs: QueryRuns) -> dict[str, int]:
    counters = runs.counters
    began = int(counters[BEGAN])
    totals = {"events": runs.ordinal, "lived": int(counters[LIVED]), "0>1": began, "0>0": runs.ordinal - began}
    for index in range(min(len(runs.program.states), len(runs.plan.components) - 1)):
        met, moved, left, died = (int(counters[place(index, which)]) for which in (MET, MOVED, LEFT, DEATHS))
        state = index + 1
        totals[f"{state}>{state}"] = met - left - died
        totals[f"{state}>{state + 1}"] = moved
        totals[f"{state}>{DIED}"] = died
        totals[f"{state}>{FORKED}"] = moved - left
    return totals
