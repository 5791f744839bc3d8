"""The numbers behind a query's extremes, where float64 holds only codes of them (`order`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.columns import Columns
from saffron.engine.trends.codegen.prepare import pairs_of
from saffron.engine.trends.core.arrays import Floats, Store
from saffron.engine.trends.core.measures import Measures
from saffron.engine.trends.core.order import Order, Pairs
from saffron.engine.trends.ordered import ordered
from saffron.engine.trends.ordered.ordered import Index

_FEW = 4096


class Extremes:
    """The codes of the attributes whose MIN or MAX float64 does not hold. `orders`: by attribute."""

    def __init__(self, measures: Measures) -> None:
        wide = {m.attribute: None for m in measures.extremes if m.attribute and m.kind is not None and m.kind.is_wide}
        self._attributes = [measure.attribute for measure in measures.extremes]
        self._signs = [-1.0 if measure.function == "max" else 1.0 for measure in measures.extremes]
        self._names = list(wide)
        self.reset()

    def reset(self) -> None:
        """Forget all numbers."""
        self.orders: dict[str, Order] = {name: Order.empty() for name in self._names}
        self._kept = dict.fromkeys(self._names, 0)

    def enter(self, columns: Columns, store: Store, index: Index | tuple[()]) -> None:
        """Take note of the numbers of a block; the codes in store and index become those that are then in force."""
        for name, order in self.orders.items():
            if len(order.codes) > 2 * self._kept[name] + _FEW:
                order.keep(np.concatenate([np.unique(array) for array in self._held(name, store, index)]))
                self._kept[name] = len(order.codes)
            recode = order.enter(pairs_of(columns, name))
            if recode is not None:
                for array in self._held(name, store, index):
                    array[...] = recode(array)

    def values(self, codes: Floats) -> Floats | Pairs:
        """[results, B] the extremes themselves; pairs if some are codes."""
        if not self.orders:
            return codes.copy()
        found = codes.astype(np.complex128)
        for b, name in enumerate(self._attributes):
            if name in self.orders:
                found[:, b] = self.orders[name].pairs_of(codes[:, b])
        return found

    def saved(self) -> dict[str, NDArray[np.generic]]:
        """All orders as arrays, for snapshots."""
        arrays: dict[str, NDArray[np.generic]] = {}
        for number, name in enumerate(self._names):
            arrays |= self.orders[name].saved(f"order.{number}")
        return arrays

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore the state of `saved`."""
        for number, name in enumerate(self._names):
            self.orders[name] = Order.restored(arrays, f"order.{number}")

    def take_over(self, old: Extremes, store: Store, index: Index | tuple[()]) -> None:
        """Take over the numbers of another query's extremes in the store; numbers become codes where they were none."""
        for name in self._names:
            if name in old.orders:
                self.orders[name] = old.orders[name]
                continue
            order = self.orders[name] = Order.empty()
            held = list(self._signed(name, store, index))
            order.enter(
                np.concatenate([sign * array[np.isfinite(array)] for sign, array in held]).astype(np.complex128)
            )
            for sign, array in held:
                here = np.isfinite(array)
                array[here] = sign * order.codes_of(sign * array[here].astype(np.complex128))

    def _held(self, name: str, store: Store, index: Index | tuple[()]) -> Iterator[Floats]:
        """The arrays that may hold codes of an attribute's numbers."""
        for _, array in self._signed(name, store, index):
            yield array

    def _signed(self, name: str, store: Store, index: Index | tuple[()]) -> Iterator[tuple[float, Floats]]:
        """The arrays that may hold codes of an attribute's numbers, with their signs: a maximum is kept negated."""
        for b, (attribute, sign) in enumerate(zip(self._attributes, self._signs, strict=True)):
            if attribute == name:
                yield sign, store.total_extremes[:, :, b]
                yield sign, store.entry_extremes[:, b]
                yield sign, store.count_extremes[:, b]
                yield sign, store.sum_extremes[:, b]
                yield sign, store.out_extremes[:, b]
                if isinstance(index, Index):
                    windows = int(index.head[ordered.WINDOWS])
                    yield sign, index.floats[b * windows : (b + 1) * windows]
