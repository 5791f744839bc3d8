"""One match query over imprecise time, in one partition: the events it keeps, and the matches of the block at hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.block import Block
from saffron.engine.events.strings import Strings
from saffron.engine.kernels.addresses import AddressTable
from saffron.engine.match.core.held import column_name
from saffron.engine.match.core.rows import SLOT, TS
from saffron.engine.match.core.stream import Range, key_matrix
from saffron.engine.match.runs.runs import Runs
from saffron.engine.match.runs.store import EventStore
from saffron.engine.match.uncertain.arrays import SHAPE, WORK
from saffron.engine.match.uncertain.by_value import found_by_value
from saffron.engine.match.uncertain.laws import law_table
from saffron.engine.match.uncertain.program import UncertainProgram
from saffron.engine.match.uncertain.render import LATEST, LikelyMatches
from saffron.engine.match.uncertain.search_state import (
    AT,
    COUNTERS,
    DONE,
    GROW_LEVELS,
    GROW_MATCHES,
    GROW_VALUES,
    LEVEL_ROWS,
    LONGEST,
    LONGEST_ROW,
    MASK,
    MATCHES,
    PICKED,
    TAIL,
    WEIGHT_ROWS,
    Shape,
    Work,
)
from saffron.engine.operators.results import Fired
from saffron.schema.schema import Schema

Array = NDArray[np.generic]
Ints = NDArray[np.int64]

BITS, LAW = "#bits", "#law"
"""Columns of rows beside LATEST and those that all have: bits of the components, number of the distribution."""

_HELD = (
    "used", "heads", "links", "hashes", "buckets", "chains", "levels", "values", "counts", "found", "chance", "picked",
)  # fmt: skip
_LARGE = 1 << 20  # matches; longer lists are given back after their block


class UncertainRuns(Runs):
    """The state of one query. `advance` takes the next events; then `work` holds the matches that they complete."""

    program: UncertainProgram

    def __init__(self, program: UncertainProgram, schema: Schema, strings: Strings, *, slot: int = 0) -> None:
        self.program = program
        self.store = EventStore(program, schema, strings, slot=slot, columns=(LATEST, BITS, LAW))
        self.shape, self._laws = self._shape()
        self.work = self._fresh()
        self._shape_table, self._work_table = (AddressTable(one, compiled=program.compiled) for one in (SHAPE, WORK))
        self._run(np.zeros(0, np.int64))  # compiles the search now, where a service expects it

    def _shape(self) -> tuple[Shape, Mapping[str, int]]:
        """The query as the search reads it, and the number of the distribution of each type with imprecise times."""
        plan, times, joins = self.plan, self.schema.times, self.program.joins
        numbers, begins, sums = law_table(times.values())
        shape = Shape(
            closure=np.array([component.closure for component in plan.components], np.int64),
            loose=self.program.loose,
            window=np.array([plan.window.size, plan.window.slide or 0], np.int64),
            least=np.array([plan.confidence or 0.0]),
            law_begins=begins,
            law_sums=sums,
            order=joins.order,
            sides=joins.sides,
            decided=joins.decided,
            left=joins.left,
            right=joins.right,
            side_of=np.array([side.component for side in joins.by], np.int64),
            asks=self.program.asks,
        )
        return shape, dict(zip(times, numbers, strict=True))

    def _fresh(self) -> Work:
        """The state of a search without events, with lists as wide as rows and keys are now.

        `lo`, `hi`, `mask`, `law` and `slot` are empty: `_run` sets them to columns of the rows.
        """
        components, joins = len(self.plan.components), len(self.program.joins.by)
        empty = np.zeros(0, np.int64)
        return Work(
            counters=np.zeros(COUNTERS, np.int64),
            lo=empty, hi=empty, mask=empty, law=empty, slot=empty,
            used=np.zeros(self.rows.capacity, np.int8),
            heads=np.full((components, self.keys.capacity), -1, np.int64),
            links=np.full((components, self.rows.capacity), -1, np.int64),
            hashes=np.zeros((joins, self.rows.capacity), np.int64),
            buckets=np.full((joins, self.rows.capacity), -1, np.int64),
            chains=np.full((joins, self.rows.capacity), -1, np.int64),
            chosen=np.full(components, -1, np.int64),
            cursors=np.zeros(components, np.int64), entry=np.zeros(components, np.int64),
            levels=np.zeros((LEVEL_ROWS, 16 + components), np.int64),
            weights=np.zeros((WEIGHT_ROWS, 16 + components)),
            first=np.zeros(components, np.int64), last=np.zeros(components, np.int64),
            values=np.zeros(1024),
            counts=np.zeros((64, components), np.int64),
            found=np.zeros((64, 3), np.int64),
            chance=np.zeros(64),
            picked=np.zeros(1024, np.int64),
        )  # fmt: skip

    # ---------------------------------------------------------------- what the operator asks

    @property
    def found(self) -> Ints:
        """int64 [3, n]: the row that completed each match, its window, and the end of its rows in `work.picked`."""
        return self.work.found[: self.work.counters[MATCHES]].T

    @property
    def live(self) -> int:
        """Events kept: there are no runs."""
        return len(self.rows)

    @property
    def held(self) -> int:
        return self.live

    @property
    def size(self) -> int:
        """Bytes of state."""
        return self.rows.size + sum(int(getattr(self.work, name).nbytes) for name in _HELD)

    @property
    def unreported(self) -> bool:
        return bool(self.work.counters[MATCHES])

    def fired(self, name: str, partition: int, block: Block) -> Sequence[Fired]:
        return [Fired(name, LikelyMatches(self, self.work, name, partition))]

    def forget_matches(self) -> None:
        """Forget the matches of the last block, which have been published."""
        self.work.counters[MATCHES] = self.work.counters[PICKED] = 0
        if len(self.work.chance) > _LARGE:
            fresh = self._fresh()
            self.work = self.work._replace(
                counts=fresh.counts, found=fresh.found, chance=fresh.chance, picked=fresh.picked
            )

    def begin_block(self, now: int) -> None:
        """Forget the last block's matches, and events that no window with `now`, the next event's lo, can hold."""
        self.forget_matches()
        self.work.heads[:, self.store.expire(now)] = -1
        counters = self.work.counters
        if counters[LONGEST_ROW] < self.rows.tail and counters[LONGEST] > 0:
            lengths: Ints = np.subtract(self.rows.live(LATEST), self.rows.live(TS), dtype=np.int64)
            counters[LONGEST] = int(lengths.max(initial=0))
            counters[LONGEST_ROW] = self.rows.tail + (int(lengths.argmax()) if len(lengths) else 0)

    def pause(self) -> None:
        """Forget all events for matches to come; matches found stay readable."""
        self.work.heads[:] = -1
        self.work.buckets[:] = -1

    def adopt(self, fresh: Self) -> bool:
        """Go on as `fresh`, which was started for the same text under a wider schema; False if times differ there."""
        if any(fresh._laws.get(name) != number for name, number in self._laws.items()):
            return False
        self.store.adopt(fresh.store)
        self.program = fresh.program
        self.shape, self._laws = fresh.shape, fresh._laws
        unknown = np.zeros((len(self.program.joins.by), 0), np.int64)  # found again with the next events
        self.work = self.work._replace(hashes=unknown)
        return True

    # ---------------------------------------------------------------- events

    def advance(self, part: Range, opened: Iterable[int] | None) -> None:
        """Take the next events (`opened` has no meaning here: no window opens at an event)."""
        masks = self.store.classify(part)
        dropped = part.dropped(self.store.slot)
        if dropped is not None:
            masks[dropped] = 0
        chosen = np.flatnonzero(masks)
        keys, present = key_matrix(part, self.store.key_names, self.strings, chosen, len(chosen))
        if present is not None:
            chosen, keys = chosen[present], np.ascontiguousarray(keys[:, present])
        if len(chosen):
            slots = self.keys.slots(keys, np.ones(len(chosen), np.bool_))
            self._run(self._store(part, chosen, masks[chosen], slots))

    def end_part(self) -> None:
        """Do nothing: no match waits for the end of a window."""

    def end_block(self, watermark: int, next_seq: int, *, end: bool) -> None:
        """Do nothing: no match waits for the end of a window."""

    def _store(self, part: Range, chosen: NDArray[np.intp], masks: Ints, slots: Ints) -> Ints:
        """Keep the chosen events; their row numbers."""
        head, ring = self.rows.head, self.rows.capacity
        latest = part.latest[chosen]
        places = self.store.keep(part, chosen, slots, self.store.windows.until(part.seq[chosen], latest))
        self._widen(ring, head)
        numbers = np.arange(head, self.rows.head)
        types = part.columns.type
        laws = np.array([self._laws.get(name, 0) for name in types.values], np.int64)[part.data("type")[chosen]]
        for name, values in ((LATEST, latest), (BITS, masks), (LAW, laws)):
            self.rows.write(name, places, values)
        self.store.touched[slots] = numbers
        return numbers

    def _widen(self, ring: int, head: int) -> None:
        """Make the lists as wide as the rows (whose ring was `ring` wide, up to row `head`) and the keys."""
        work, slots = self.work, self.keys.capacity
        self.store.widen()
        if slots > work.heads.shape[1]:
            more = slots - work.heads.shape[1]
            work = work._replace(
                heads=np.ascontiguousarray(np.pad(work.heads, ((0, 0), (0, more)), constant_values=-1))
            )
        if self.rows.capacity > ring:
            links = np.full((len(work.links), self.rows.capacity), -1, np.int64)
            rows = np.arange(self.rows.tail, head)
            links[:, rows & self.rows.mask] = work.links[:, rows & (ring - 1)]
            work = work._replace(links=links, used=np.zeros(self.rows.capacity, np.int8))
        self.work = work

    def _run(self, numbers: Ints) -> None:
        """Search for the matches that the new rows `numbers` complete; `work` then holds them, behind earlier ones.

        Where an array is too small, the search stops; it goes on once the array has grown.
        """
        columns: dict[str, Any] = self.rows.columns
        self.work = self.work._replace(
            lo=columns[TS], hi=columns[LATEST], mask=columns[BITS], law=columns[LAW], slot=columns[SLOT]
        )
        counters = self.work.counters
        counters[AT], counters[TAIL], counters[MASK] = 0, self.rows.tail, self.rows.mask
        self.work = found_by_value(self.program.joins, self.shape, self.work, self.rows, numbers)
        read = [columns[column_name(name)] for name in self.program.step_names.attributes]
        status = -1
        while status != DONE:
            self._grow(status)
            shape, work = self._shape_table.of(self.shape), self._work_table.of(self.work)
            with np.errstate(all="ignore"):
                status = self.program.search(shape, numbers, work, self.store.constants, self.strings.ranks(), *read)

    def _grow(self, status: int) -> None:
        """Double the arrays for which the search stopped. `status` -1: the search has not begun, and none grows."""
        work = self.work
        if status == GROW_LEVELS:
            self.work = work._replace(levels=_doubled(work.levels, 1), weights=_doubled(work.weights, 1))
        elif status == GROW_VALUES:
            self.work = work._replace(values=_doubled(work.values))
        elif status == GROW_MATCHES:
            self.work = work._replace(
                counts=_doubled(work.counts), found=_doubled(work.found), chance=_doubled(work.chance)
            )
        elif status > 0:
            self.work = work._replace(picked=_doubled(work.picked))

    # ---------------------------------------------------------------- snapshots

    def save(self) -> dict[str, Any]:
        kept = np.arange(self.rows.tail, self.rows.head) & self.rows.mask
        return {
            "longest": self.work.counters[[LONGEST, LONGEST_ROW]],
            "heads": self.work.heads.copy(),
            "links": np.ascontiguousarray(self.work.links[:, kept]),
            **self.store.saved(),
        }

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Restore the state of `save`. Matches are forgotten, and hashes are computed anew with the next events."""
        self.store.restore(arrays)
        links = np.full((len(self.plan.components), self.rows.capacity), -1, np.int64)
        links[:, np.arange(self.rows.tail, self.rows.head) & self.rows.mask] = arrays["links"]
        self.work = self.work._replace(
            heads=np.array(arrays["heads"], np.int64, order="C"),
            links=links,
            used=np.zeros(self.rows.capacity, np.int8),
            hashes=np.zeros((len(self.program.joins.by), 0), np.int64),  # found again with the next events
        )
        self.work.counters[:] = 0
        self.work.counters[[LONGEST, LONGEST_ROW]] = arrays["longest"]


def _doubled(array: Any, axis: int = 0) -> Any:
    more = [(0, length if number == axis else 0) for number, length in enumerate(array.shape)]
    return np.ascontiguousarray(np.pad(array, more))
