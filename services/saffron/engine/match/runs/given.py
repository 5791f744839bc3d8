"""The events of a block that matter to a query, chosen and stored before its kernel takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from saffron.engine.match.core.classify import OPENS
from saffron.engine.match.core.kernel_layout import UNCOUNTED
from saffron.engine.match.core.stream import Range
from saffron.engine.match.general.passing import Passing
from saffron.engine.match.runs.derived import composition, results_of
from saffron.engine.match.runs.store import Chosen

if TYPE_CHECKING:
    from saffron.engine.match.runs.query_runs import QueryRuns

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Take = Callable[[Ints, Ints, Ints, Ints], None]
"""Takes stored events [n]: rows (-1: one that only ends contiguity), slots of keys, masks, ordinals."""


def give(runs: QueryRuns, part: Range, opened: Iterable[int] | None, take: Take) -> None:
    """Advance a query by a part of a block, and give the events that matter to it to `take` in one call.

    Its windows are opened, its clock and its event number move on, and these events are stored. Under contiguity all
    its events are given, since each may end a run. `opened`: see `Runs.advance`.
    """
    store, program = runs.store, runs.program
    instants, masks, dropped = store.instants(part), store.classify(part), part.dropped(store.slot)
    results = results_of(part) if runs.composed else None
    if results is not None:
        masks[results] &= ~OPENS
    store.open(part, masks, opened)
    if dropped is not None:
        masks[dropped] = 0
    ordinals = _ordinals(runs, part, results, dropped, masks)
    passing = Passing(instants, ordinals, runs.clock, runs.ordinal)
    if runs.watch is not None:
        runs.watch.begin(runs.pools[0], passing, first=part.low == 0)
    runs.clock = int(instants[-1])
    runs.ordinal = int(ordinals[-1]) - int(results is not None and results[-1])
    if program.closing is not None:
        counted = slice(None) if results is None else ~results
        runs.expired.passed.append((instants[counted], ordinals[counted]))
    wanted = masks != 0
    if program.every:
        wanted = np.ones(len(part), np.bool_) if dropped is None else ~dropped
        if results is not None:
            wanted &= ~results | (masks != 0)
    chosen: Chosen = slice(None) if wanted.all() else np.flatnonzero(wanted)
    _take(runs, part, chosen, masks[chosen], ordinals[chosen], instants[chosen], take)
    if runs.watch is not None:
        runs.watch.end(passing)


def _ordinals(runs: QueryRuns, part: Range, results: Flags | None, dropped: Flags | None, masks: Ints) -> Ints:
    """[n] by which events are counted; a result of another query has none, its number is that of the next event."""
    if results is None and dropped is None:
        return np.arange(runs.ordinal + 1, runs.ordinal + len(part) + 1)
    if results is None:
        assert dropped is not None
        numbers: Ints = np.cumsum(~dropped) + runs.ordinal
        return numbers
    counted = ~results if dropped is None else ~(results | dropped)
    if runs.program.uncounted:
        masks[results & (masks != 0)] |= UNCOUNTED
    ordinals: Ints = np.cumsum(counted) + runs.ordinal + results
    return ordinals


def _take(
    runs: QueryRuns, part: Range, chosen: Chosen, masks: Ints, ordinals: Ints, instants: Ints, take: Take
) -> None:
    """Keep the chosen events whose key has a slot, or may get one, and give them to `take`.

    `masks`, `ordinals`, `instants`: of the chosen events. An event that no window holds begins no run.
    """
    store, program = runs.store, runs.program
    until = store.windows.until(part.seq[chosen], instants)
    if store.plan.window.slide is not None or store.plan.window.opens is not None:
        masks = np.where(until < instants, masks & ~program.begins, masks)
    slots = store.slots(part, chosen, masks & program.founds != 0)
    known = slots >= 0
    if not known.all():
        kept = np.flatnonzero(known)
        chosen = kept if isinstance(chosen, slice) else chosen[kept]
        masks, ordinals, slots, until = masks[kept], ordinals[kept], slots[kept], until[kept]
    if len(slots):
        runs.widen()
        take(_keep(runs, part, chosen, masks, slots, until), slots, masks, ordinals)


def _keep(runs: QueryRuns, part: Range, chosen: Chosen, masks: Ints, slots: Ints, until: Ints) -> Ints:
    """Keep the chosen events; their row numbers, -1 for those that only end contiguity."""
    store, program = runs.store, runs.program
    useful = masks != 0 if program.every and program.closing is None else None
    if useful is None or useful.all():
        numbers = np.arange(store.rows.head, store.rows.head + len(masks))
    else:
        kept = np.flatnonzero(useful)
        numbers = np.where(useful, np.cumsum(useful) - 1 + store.rows.head, -1)
        chosen = kept if isinstance(chosen, slice) else chosen[kept]
        slots, until = slots[kept], until[kept]
    places = store.keep(part, chosen, slots, until)
    if runs.composed:
        for name, values in composition(part).items():
            store.rows.write(name, places, values[chosen])
    return numbers
