"""A query over flat patterns whose kernel picks its events itself: rows are stored only of those that met a run."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.jit import kernel
from saffron.engine.kernels.numba_types import int32, int64, types, void
from saffron.engine.match.core.kernel_layout import AT, DONE, FOUND
from saffron.engine.match.core.rows import NODE_AT
from saffron.engine.match.core.stream import NO_SLOT, Range, interned, key_matrix
from saffron.engine.match.flat.scanned_events import COUNT, GROW_KEYS, LEFT_OUT
from saffron.engine.match.runs.parts import Source
from saffron.schema.schema import NULL_INT, Kind

Ints = NDArray[np.int64]


class Scanning(Source):
    """A `Source` for flat programs whose kernel picks its events itself."""

    def advance(self, part: Range, opened: Iterable[int] | None) -> None:
        """Take the next events."""
        runs, store = self.runs, self.runs.store
        instants, masks, dropped = store.instants(part), store.classify(part), part.dropped(store.slot)
        store.open(part, masks, opened)
        runs.clock = int(instants[-1])
        until = store.windows.until(part.seq, instants)
        if store.plan.window.slide is not None or store.plan.window.opens is not None:
            masks = np.where(until < instants, masks & ~runs.program.begins, masks)
        ordinals = np.arange(runs.ordinal + 1, runs.ordinal + len(part) + 1)
        keys = self._keys_of(part, masks)
        if dropped is not None:
            masks[dropped] = LEFT_OUT
            ordinals = np.cumsum(~dropped) + runs.ordinal
        runs.ordinal = int(ordinals[-1])
        self._scan(part, instants, keys, masks, ordinals, until)

    def _keys_of(self, part: Range, masks: Ints) -> tuple[Ints, NDArray[np.int32], Ints]:
        """`keys`, `which` and `slot_of` of the kernel (see `ScannedEvents`); events without a key are left out."""
        store = self.runs.store
        alone = len(store.key_names) == 1
        name = store.plan.key[0] if alone else "ts"
        column = part.column(name)
        distinct = len(column.values)
        if alone and column.kind is Kind.INT and (dense := self._dense(part.data(name).astype(np.int64, copy=False))):
            return dense
        if not column.kind.has_texts or 4 * distinct > len(part):
            keys, present = key_matrix(part, store.key_names, store.strings, slice(None), len(part))
            if present is not None:
                masks[~present] = LEFT_OUT
            return keys, np.empty(0, np.int32), np.empty(0, np.int64)
        which = part.data(name).astype(np.int32, copy=False)
        if which.min() < 0:
            masks[which < 0] = LEFT_OUT
        keys = store.strings.mapping(name, column)[:-1].astype(np.int64).reshape(1, -1)
        slots = store.keys.slots(keys, np.zeros(distinct, np.bool_))
        return keys, which, np.append(slots, NO_SLOT)

    def _dense(self, values: Ints) -> tuple[Ints, NDArray[np.int32], Ints] | None:
        """Keys that lie so close together that each number between them may have a place of its own; else None."""
        low, high = _span(values)
        if low == NULL_INT or 4 * (high - low) > len(values):
            return None
        keys = (low + np.arange(high - low + 1)).reshape(1, -1)  # `high` may be the greatest int64
        slots = self.runs.keys.slots(keys, np.zeros(keys.shape[1], np.bool_))
        which = np.empty(len(values), np.int32)
        _offsets(values, low, which)
        return keys, which, slots

    def _scan(
        self, part: Range, instants: Ints, keys: tuple[Any, ...], masks: Ints, ordinals: Ints, until: Ints
    ) -> None:
        """Run the kernel over a part, keep the events that runs have bound, and complete the list of matches.

        `keys`: as `_keys_of` gives them. After an array has grown the kernel is called again, and goes on.
        """
        runs, store = self.runs, self.runs.store
        start = int(runs.counters[FOUND])
        runs.counters[AT] = 0
        progress = np.array([0, store.rows.head], np.int64)
        selected, slots, node_at = (np.empty(len(part), np.int64) for _ in range(3))
        columns = [
            interned(part, name, store.strings, slice(None)).astype(kind.dtype, copy=False)
            for name, kind in runs.program.step_names.attributes.items()
        ]
        runs.widen()
        status = -1
        while status != DONE:
            self._make_room(status)
            pools = chain.from_iterable(pool.arrays for pool in runs.pools)
            with np.errstate(all="ignore"):
                status = runs.program.step(
                    int(runs.counters[AT]), len(part), progress, *keys, *store.keys.arrays().values(),
                    selected, slots, masks, ordinals, np.require(instants, requirements=("C", "A")), until,
                    runs.counters, store.constants, store.strings.ranks(), *runs.nodes.arrays,
                    node_at, store.touched, runs.reached, runs.matches.buffer, *columns, *pools,
                )  # fmt: skip
        if count := int(progress[COUNT]):
            chosen = selected[:count]
            places = store.keep(part, chosen, slots[:count], until[chosen])
            store.rows.write(NODE_AT, places, node_at[:count])
        runs.matches.complete(start)

    def _make_room(self, status: int) -> None:
        if status == GROW_KEYS:
            self.runs.keys.grow()
            self.runs.widen()
        else:
            self.runs.make_room(status)


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
