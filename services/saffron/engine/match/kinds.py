"""The two kinds of runs of a match query: over exact times, and over imprecise ones (`engine.uncertain`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.block import Block
from saffron.engine.events.schema import Schema
from saffron.engine.match import rows, snapshot
from saffron.engine.match.collapsed import CollapsedMatches
from saffron.engine.match.compressed.runs import compile_graphs
from saffron.engine.match.entries import Entries, at_once, joined
from saffron.engine.match.fastest import fastest
from saffron.engine.match.graph_results import CollapsedRuns, takes_graphs
from saffron.engine.match.layout import AT_ONCE, FOUND, LAST_ROW, NODE_TAIL
from saffron.engine.match.query import AFTER_ALL, QueryRuns
from saffron.engine.match.render import Matches
from saffron.engine.match.selection.found import entries_of
from saffron.engine.match.selection.grouped import grouped
from saffron.engine.match.timed_out import TimedOutRuns
from saffron.engine.operator import State
from saffron.engine.results import DUE, FULL, Fired
from saffron.engine.strings import Strings
from saffron.engine.uncertain import snapshot as uncertain_snapshot
from saffron.engine.uncertain.program import compile_uncertain, is_uncertain
from saffron.engine.uncertain.render import LikelyMatches
from saffron.engine.uncertain.runs import UncertainRuns
from saffron.errors import SaffronError
from saffron.language.plan import MatchPlan, Output

Runs = QueryRuns | UncertainRuns
Ints = NDArray[np.int64]


def start(
    plan: MatchPlan,
    schema: Schema,
    strings: Strings,
    *,
    slot: int,
    compiled: bool,
    sheds: bool,
    merges: bool = True,
) -> Runs:
    """What runs a plan on a stream, `sheds`: by runs that can be dropped; SaffronError where nothing can.

    `merges`: equivalent runs go on as one (N7).
    """
    if is_uncertain(plan, schema):
        if schema.derived:
            message = "results of others have no intervals of time: leave CONFIDENCE out, or the type that INTO makes"
            raise SaffronError(f"query {plan.name}: {message}")
        return UncertainRuns(compile_uncertain(plan, schema, compiled=compiled), schema, strings, slot=slot)
    if schema.derived and plan.output is Output.COMPRESSED:
        message = "a query that reads results of others cannot collapse its own: leave OUTPUT COMPRESSED out"
        raise SaffronError(f"query {plan.name}: {message}")
    if takes_graphs(plan):
        return CollapsedRuns(compile_graphs(plan, compiled=compiled), schema, strings, slot=slot)
    return fastest(plan, schema, strings, slot=slot, compiled=compiled, sheds=sheds, merges=merges)


def fired(runs: Runs, name: str, partition: int, block: Block) -> list[Fired]:
    """What it reports of the block at hand: to be asked once a block. What waited for the end of a window stands before
    the event that is the first behind it."""
    if isinstance(runs, UncertainRuns):
        return [Fired(name, LikelyMatches(runs, name, partition))]
    if isinstance(runs, CollapsedRuns):
        return [Fired(name, CollapsedMatches(runs, one, name, partition)) for one in runs.collapsed()]
    parts = _of_matches(runs, joined([*runs.decided, _decided(runs)]), name, partition, block)
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


def known(runs: QueryRuns, entries: Entries, block: Block) -> list[tuple[Entries, Ints, int, Ints]]:
    """The entries by when they were known: (entries, position [n], phase, deadline [n]), in order each."""
    columns, mask = runs.rows.columns, runs.rows.mask
    now = at_once(entries)
    late, prompt = entries.only(~now), entries.only(now)
    late = late.only(np.argsort(late.deadline, kind="stable"))
    parts = [(late, _behind(late.deadline, runs, block), _phase(runs), late.deadline)]
    last = prompt.found[LAST_ROW] & mask
    if not runs.composed:
        return [*parts, (prompt, columns[rows.SEQ][last].astype(np.int64), DUE, np.full(len(prompt), AFTER_ALL))]
    deadline = columns[rows.DUE][last].astype(np.int64)
    for phase, chosen in _phases(deadline, columns[rows.COUNTED][last]):
        fires = columns[rows.FIRES][last[chosen]].astype(np.int64)
        at = np.where(deadline == AT_ONCE, AFTER_ALL, deadline)[chosen]
        parts.append((prompt.only(chosen), fires, phase, at))
    return parts


def _phases(deadline: Ints, counted: NDArray[np.generic]) -> list[tuple[int, NDArray[np.bool_]]]:
    """Which matches were known with an event of the stream, or by a deadline in time, and which when a count was."""
    full = (deadline != AT_ONCE) & (counted != 0)
    return [(DUE, ~full), (FULL, full)] if full.any() else [(DUE, ~full)]


def _of_matches(runs: QueryRuns, entries: Entries, name: str, partition: int, block: Block) -> list[Fired]:
    if runs.composed:
        return [
            Fired(name, Matches(runs, part, name, partition, position), phase, deadline)
            for part, position, phase, deadline in known(runs, entries, block)
        ]
    if not runs.program.waits:
        return [Fired(name, _rendered(runs, entries, name, partition))]
    now = at_once(entries)
    due = entries.only(~now)
    due = due.only(np.argsort(due.deadline, kind="stable"))
    late = _rendered(runs, due, name, partition, block)
    prompt = _rendered(runs, entries.only(now), name, partition)
    return [
        Fired(name, late, _phase(runs), late.deadline),
        Fired(name, prompt, DUE, np.full(len(prompt), AFTER_ALL)),
    ]


def _rendered(
    runs: QueryRuns, entries: Entries, name: str, partition: int, block: Block | None = None
) -> Matches | CollapsedMatches:
    """`block`: where these were due, before the event behind their deadline; None: they stand with their last event."""
    if runs.plan.output is Output.COMPRESSED and len(entries):
        collapsed = grouped(entries, runs.stored, int(runs.counters[NODE_TAIL]))
        behind = None if block is None else _behind(collapsed.entries.deadline, runs, block)
        return CollapsedMatches(runs, collapsed, name, partition, behind)
    return Matches(runs, entries, name, partition, None if block is None else _behind(entries.deadline, runs, block))


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
