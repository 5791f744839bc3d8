"""A query over flat patterns whose kernel picks its events itself: rows are stored only of those that met a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.key_words import key_names
from saffron.engine.kernels.jit import kernel
from saffron.engine.kernels.numba_types import int32, int64, types, void
from saffron.engine.match.core.classify import OPENS
from saffron.engine.match.core.held import column_name, held_kinds
from saffron.engine.match.core.kernel_layout import AT, DONE, FOUND, GROW_FOUND, GROW_NODES, GROW_POOL, NODE, NODE_TAIL
from saffron.engine.match.core.rows import NODE_AT, SEQ, SLOT, TIME, TS, TYPE, UNTIL
from saffron.engine.match.core.stream import NO_SLOT, Range, interned, key_matrix
from saffron.engine.match.flat.scan_source import COUNT, GROW_KEYS, LEFT_OUT
from saffron.engine.match.runs.feature_keys import keep_keys
from saffron.engine.match.runs.query_runs import QueryRuns
from saffron.schema.schema import NULL_INT, Kind

Ints = NDArray[np.int64]


class ScanRuns(QueryRuns):
    """As `QueryRuns`, for flat programs compiled so that they scan."""

    def advance(self, part: Range, opened: Iterable[int] | None) -> None:
        """Take the next events. `opened`: positions at which OPEN ON windows open (None: find them out here)."""
        instants = part.seq if self.plan.window.events else part.ts
        masks = self._classify(part)
        dropped = part.dropped(self.slot)
        self._open(part, instants, masks, opened)
        self.clock = int(instants[-1])
        until = self.windows.until(part.seq, instants)
        if self.plan.window.opens is not None:
            masks &= ~OPENS
        if self.plan.window.slide is not None or self.plan.window.opens is not None:
            masks = np.where(until < instants, masks & ~self.program.begins, masks)
        ordinals = np.arange(self.ordinal + 1, self.ordinal + len(part) + 1)
        keys = self._keys_of(part, masks)
        if dropped is not None:
            masks[dropped] = LEFT_OUT
            ordinals = np.cumsum(~dropped) + self.ordinal
        self.ordinal = int(ordinals[-1])
        self._scan(part, instants, keys, masks, ordinals, until)

    def _keys_of(self, part: Range, masks: Ints) -> tuple[Ints, NDArray[np.int32], Ints]:
        """`keys`, `which` and `slot_of` of the kernel (see `ScanSource`); events without a key are left out."""
        alone = len(key_names(self.plan.key, self.schema.kinds)) == 1
        name = self.plan.key[0] if alone else "ts"
        column = part.column(name)
        distinct = len(column.values)
        if alone and column.kind is Kind.INT and (dense := self._dense(part.data(name).astype(np.int64, copy=False))):
            return dense
        if column.kind is not Kind.STRING or 4 * distinct > len(part):
            keys, present = key_matrix(
                part, key_names(self.plan.key, self.schema.kinds), self.strings, slice(None), len(part)
            )
            if present is not None:
                masks[~present] = LEFT_OUT
            return keys, np.empty(0, np.int32), np.empty(0, np.int64)
        which = part.data(name).astype(np.int32, copy=False)
        if which.min() < 0:
            masks[which < 0] = LEFT_OUT
        keys = self.strings.mapping(name, column)[:-1].astype(np.int64).reshape(1, -1)
        slots = self.keys.slots(keys, np.zeros(distinct, np.bool_))
        return keys, which, np.append(slots, NO_SLOT)

    def _dense(self, values: Ints) -> tuple[Ints, NDArray[np.int32], Ints] | None:
        """Keys that lie so close together that each number between them may have a place of its own; else None."""
        low, high = _span(values)
        if low == NULL_INT or 4 * (high - low) > len(values):
            return None
        keys = (low + np.arange(high - low + 1)).reshape(1, -1)  # `high` may be the greatest int64
        slots = self.keys.slots(keys, np.zeros(keys.shape[1], np.bool_))
        which = np.empty(len(values), np.int32)
        _offsets(values, low, which)
        return keys, which, slots

    def _scan(
        self, part: Range, instants: Ints, keys: tuple[Any, ...], masks: Ints, ordinals: Ints, until: Ints
    ) -> None:
        start = int(self.counters[FOUND])
        self.counters[AT] = 0
        progress = np.array([0, self.rows.head], np.int64)
        selected, slots, node_at = (np.empty(len(part), np.int64) for _ in range(3))
        columns = [
            interned(part, name, self.strings, slice(None)).astype(kind.dtype, copy=False)
            for name, kind in self.program.step_names.attributes.items()
        ]
        self._widen()
        status = -1
        while status != DONE:
            self._make_room(status)
            with np.errstate(all="ignore"):
                status = self.program.step(
                    int(self.counters[AT]), len(part), progress, *keys, *self.keys.arrays().values(),
                    selected, slots, masks, ordinals, np.require(instants, requirements=("C", "A")), until,
                    *self._state(), node_at, self.touched, self.reached, self.buffer, *columns, *self._pools(),
                )  # fmt: skip
        if count := int(progress[COUNT]):
            self._keep(part, selected[:count], slots[:count], until, node_at[:count])
        self._mark(start)
        self._sort(start)

    def _keep(self, part: Range, chosen: Ints, slots: Ints, until: Ints, node_at: Ints) -> None:
        """Store the chosen events."""
        places = self.rows.append(len(chosen))
        keep_keys(self.rows, part, places, chosen)
        for name, values in ((SLOT, slots), (NODE_AT, node_at), (TYPE, interned(part, "type", self.strings, chosen))):
            self.rows.write(name, places, values)
        for name, values in ((SEQ, part.seq), (TS, part.ts), (TIME, part.time), (UNTIL, until)):
            self.rows.gather(name, places, values, chosen)
        for name, kind in held_kinds(self.schema).items():
            if kind is Kind.STRING:
                self.rows.write(column_name(name), places, interned(part, name, self.strings, chosen))
            else:
                values = part.data(name).astype(kind.dtype, copy=False)
                self.rows.gather(column_name(name), places, values, chosen)

    def _make_room(self, status: int) -> None:
        if status == GROW_KEYS:
            self.keys.grow()
            self._widen()
        elif status == GROW_NODES:
            self.nodes.grow(int(self.counters[NODE_TAIL]), int(self.counters[NODE]))
        elif status == GROW_FOUND:
            self._widen_found()
        elif status >= GROW_POOL:
            self.pools[status - GROW_POOL].grow()

    def _state(self) -> Iterator[Any]:
        yield from (self.counters, self.step_constants, self.strings.ranks(), *self.nodes.arrays)

    def _pools(self) -> Iterator[Any]:
        for pool in self.pools:
            yield from pool.arrays


_VALUES = types.Array(int64, 1, "C", readonly=True)


@kernel(types.UniTuple(int64, 2)(_VALUES))
def _span(values):  # type: ignore[no-untyped-def]
    """The smallest and the largest."""
    low, high = values[0], values[0]
    for value in values:
        low, high = min(low, value), max(high, value)
    return low, high


@kernel(void(_VALUES, int64, int32[::1]))
def _offsets(values, low, found):  # type: ignore[no-untyped-def]
    for i in range(len(values)):
        found[i] = values[i] - low
