"""The two kinds of runs of a match query: over exact times, and over imprecise ones (`engine.match.uncertain`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.block import Block
from saffron.engine.events.strings import Strings
from saffron.engine.match.core import rows
from saffron.engine.match.core.kernel_layout import AT_ONCE, FOUND, LAST_ROW, NODE_TAIL
from saffron.engine.match.output.collapsed import CollapsedMatches
from saffron.engine.match.output.found import entries_of
from saffron.engine.match.output.graph_results import CollapsedRuns
from saffron.engine.match.output.render import Matches
from saffron.engine.match.output.timed_out import TimedOutRuns
from saffron.engine.match.planning.engine import engine_of
from saffron.engine.match.queries.fastest import fastest
from saffron.engine.match.runs import snapshot
from saffron.engine.match.runs.query_runs import AFTER_ALL, QueryRuns
from saffron.engine.match.selection.entries import Entries, at_once, joined
from saffron.engine.match.selection.grouped import grouped
from saffron.engine.match.uncertain import snapshot as uncertain_snapshot
from saffron.engine.match.uncertain.program import compile_uncertain
from saffron.engine.match.uncertain.render import LikelyMatches
from saffron.engine.match.uncertain.runs import UncertainRuns
from saffron.engine.operators.engine_choice import Engine
from saffron.engine.operators.operator import State
from saffron.engine.operators.results import DUE, FULL, Fired
from saffron.language.plan.plan import MatchPlan, Output
from saffron.schema.schema import Schema

Runs = QueryRuns | UncertainRuns
Ints = NDArray[np.int64]


def start(
    plan: MatchPlan,
    schema: Schema,
    strings: Strings,
    *,
    slot: int,
    compiled: bool,
    shed: str,
    merges: bool = True,
) -> Runs:
    """What runs a plan on a stream; SaffronError where nothing can. `shed`, `merges`: see `engine_of`."""
    if engine_of(plan, schema, shed=shed, merges=merges).engine is Engine.IMPRECISE:
        return UncertainRuns(compile_uncertain(plan, compiled=compiled), schema, strings, slot=slot)
    return fastest(plan, schema, strings, slot=slot, compiled=compiled, shed=shed, merges=merges)


def fired(runs: Runs, name: str, partition: int, block: Block) -> list[Fired]:
    """What it reports of the block at hand: to be asked once a block. What waited for the end of a window stands before
    the event that is the first behind it."""
    if isinstance(runs, UncertainRuns):
        return [Fired(name, LikelyMatches(runs, name, partition))]
    if isinstance(runs, CollapsedRuns):
        return [Fired(name, CollapsedMatches(runs, one, name, partition)) for one in runs.collapsed()]
    entries = joined([*runs.decided, _decided(runs)])
    parts = [_reported(runs, one, name, partition, block) for one in known(runs, entries, block)]
    if runs.timeouts is not None:
        over = runs.timeouts.over(runs.expired, runs.stored)
        deadline = over.entries.deadline
        behind = _behind(deadline, runs, block)
        parts.append(Fired(name, TimedOutRuns(runs, over, name, partition, behind), _phase(runs), deadline))
    return parts


def settled(runs: QueryRuns) -> Entries:
    """What has been decided since this was last asked; `fired` reports it all the same."""
    entries = _decided(runs)
    runs.decided.append(entries)
    runs.counters[FOUND] = 0
    return entries


@dataclass(frozen=True)
class Known:
    """Entries in order, and when they were known.

    `position` [n]: before or at which; None: with their last events. `phase`, `deadline` [n]: see `results.Fired`.
    """

    entries: Entries
    position: Ints | None = None
    phase: int = DUE
    deadline: Ints | None = None


def known(runs: QueryRuns, entries: Entries, block: Block) -> list[Known]:
    """The entries by when they were known: those that waited for the end of a window, then those that did not."""
    if not (runs.composed or runs.program.waits):
        return [Known(entries)]
    now = at_once(entries)
    late, prompt = entries.only(~now), entries.only(now)
    late = late.only(np.argsort(late.deadline, kind="stable"))
    parts = [Known(late, _behind(late.deadline, runs, block), _phase(runs), late.deadline)]
    if not runs.composed:
        return [*parts, Known(prompt)]
    columns, last = runs.rows.columns, prompt.found[LAST_ROW] & runs.rows.mask
    deadline = columns[rows.DUE][last].astype(np.int64)
    for phase, chosen in _phases(deadline, columns[rows.COUNTED][last]):
        fires = columns[rows.FIRES][last[chosen]].astype(np.int64)
        at = np.where(deadline == AT_ONCE, AFTER_ALL, deadline)[chosen]
        parts.append(Known(prompt.only(chosen), fires, phase, at))
    return parts


def _phases(deadline: Ints, counted: NDArray[np.generic]) -> list[tuple[int, NDArray[np.bool_]]]:
    """Which matches were known with an event of the stream, or by a deadline in time, and which when a count was."""
    full = (deadline != AT_ONCE) & (counted != 0)
    return [(DUE, ~full), (FULL, full)] if full.any() else [(DUE, ~full)]


def _reported(runs: QueryRuns, one: Known, name: str, partition: int, block: Block) -> Fired:
    if runs.plan.output is not Output.COMPRESSED or not len(one.entries):
        return Fired(name, Matches(runs, one.entries, name, partition, one.position), one.phase, one.deadline)
    collapsed = grouped(one.entries, runs.stored, int(runs.counters[NODE_TAIL]))
    position = None if one.position is None else _behind(collapsed.entries.deadline, runs, block)
    graphs = CollapsedMatches(runs, collapsed, name, partition, position)
    return Fired(name, graphs, one.phase, None if one.deadline is None else graphs.deadline)


def _phase(runs: QueryRuns) -> int:
    return FULL if runs.plan.window.events else DUE


def unreported(runs: Runs) -> bool:
    """Whether `fired` may have something to say of the block at hand."""
    if isinstance(runs, UncertainRuns):
        return bool(runs.found.shape[1])
    if isinstance(runs, CollapsedRuns):
        return runs.ended
    return bool(runs.found.shape[1] or runs.decided or runs.choice.waiting or len(runs.expired))


def pause(runs: Runs) -> None:
    """Forget all runs, and the matches that wait; what was decided up to here is reported."""
    if isinstance(runs, QueryRuns) and not isinstance(runs, CollapsedRuns):
        runs.close_windows(runs.clock)
        runs.decided.append(_decided(runs))
        runs.counters[FOUND] = 0
        runs.choice.forget()
    runs.forget_runs()


def _decided(runs: QueryRuns) -> Entries:
    """What is decided of the matches in the list of found ones, and of those that waited."""
    entries = entries_of(runs)
    if runs.timeouts is not None:
        runs.timeouts.match(entries, runs.stored)
    return runs.choice.chosen(entries, runs.stored, runs.swept)


def _behind(deadline: Ints, runs: QueryRuns, block: Block) -> Ints:
    """[n] the position of the first event whose instant is greater; no later than where the block ends."""
    if runs.plan.window.events:
        return np.minimum(deadline + 1, block.next_seq)
    behind = np.searchsorted(block.columns.ts, deadline, side="right")
    return np.append(block.columns.seq, block.next_seq)[behind]


def save(runs: Runs) -> State:
    """Its state as flat arrays."""
    return uncertain_snapshot.save(runs) if isinstance(runs, UncertainRuns) else snapshot.save(runs)


def restore(runs: Runs, arrays: State) -> None:
    """Take over what `save` gave, into runs of the same plan and schema."""
    if isinstance(runs, UncertainRuns):
        uncertain_snapshot.restore(runs, arrays)
    else:
        snapshot.restore(runs, arrays)
