"""The codes by which trees are ordered where float64 does not tell apart what they compare (`order`, T6).

All that a query's trees hold or are asked for becomes codes of one order: keys, words of equalities, bounds. So trees
stay as they are, whatever the kinds of attributes. Trees order words as integers, and so negative numbers the other way
round: the word of a negative number is the negative of its code's bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.trends.core.arrays import Floats, Ints, Store
from saffron.engine.trends.core.graphs import Graphs
from saffron.engine.trends.core.order import Order, Pairs
from saffron.engine.trends.ordered import ordered
from saffron.engine.trends.store.room import Trees

_FEW = 4096
_NAME = "tree_codes"
_WORDS = slice(1, 3)
"""Which of the five values of an event become words (`prepare.ranked`)."""
_LEAST = np.float64(-np.inf).view(np.int64)


class TreeCodes:
    """The codes of a query's trees. `needed`: False if float64 decides all that they compare; then there are none."""

    def __init__(self, graphs: Graphs) -> None:
        self.needed = graphs.has_codes
        self._waiting = len(graphs.trees) if graphs.plan.strict else 0
        self.reset()

    def reset(self) -> None:
        """Forget all values."""
        self._order = Order.empty()
        self._kept = 0

    def of(self, values: Floats, rests: Floats, store: Store, index: Trees) -> Floats:
        """The codes of values and their rests, infinity and NaN as they are; those held become what is now in force.

        [5, trees, n] both; the codes of words are the numbers whose bits these are.
        """
        if len(self._order.codes) > 2 * self._kept + _FEW:
            self._order.keep(np.concatenate([held.ravel() for held in self._held(store, index, _codes)]))
            self._kept = len(self._order.codes)
        here = np.isfinite(values)
        pairs: Pairs = values[here] + 1j * rests[here]
        recode = self._order.enter(pairs)
        if recode is not None:
            self._change(recode, lambda words: _words(recode(_codes(words)), words < 0), store, index)
        codes = values.copy()
        codes[here] = self._order.codes_of(pairs)
        codes[_WORDS] = _words(codes[_WORDS], values[_WORDS] < 0.0).view(np.float64)
        return codes

    def take_over(self, old: TreeCodes, store: Store, index: Trees) -> None:
        """Take over what another query's trees are ordered by: values become codes, or codes the values that all are.

        Codes are no longer needed where the comparison that needed them turns out never to hold.
        """
        if self.needed == old.needed:
            self._order, self._kept = old._order, old._kept
        elif old.needed:
            self._change(old._values, lambda words: old._values(_codes(words)).view(np.int64), store, index)
        else:
            for held in self._held(store, index, _floats):
                self._order.enter(held[np.isfinite(held)].astype(np.complex128))
            self._change(self._coded, lambda words: _words(self._coded(_floats(words)), words < 0), store, index)

    def strings(self, known: int) -> Ints:
        """The numbers of strings, below `known`, that may be among the values."""
        values: Floats = self._order.numbers.real
        found = values[(values >= 0) & (values < known) & (values == np.floor(values))]
        return np.asarray(found, np.int64)

    def saved(self) -> dict[str, NDArray[np.generic]]:
        """The codes as arrays, for snapshots."""
        return self._order.saved(_NAME) if self.needed else {}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore the state of `saved`."""
        if self.needed:
            self._order = Order.restored(arrays, _NAME)

    def _coded(self, values: Floats) -> Floats:
        codes = values.copy()
        here = np.isfinite(values)
        codes[here] = self._order.codes_of(values[here].astype(np.complex128))
        return codes

    def _values(self, codes: Floats) -> Floats:
        values: Floats = self._order.pairs_of(codes).real
        return values

    def _held(self, store: Store, index: Trees, read: Callable[[Ints], Floats]) -> Iterator[Floats]:
        """All that trees hold, and, under TIME STRICT, what waits for them. `read`: what words stand for."""
        if isinstance(index, ordered.Index):
            yield index.floats[ordered.KEY]
            if index.head[ordered.WORD]:
                yield read(index.ints[index.head[ordered.WORD]].astype(np.int64))
        if self._waiting:
            yield store.values[-self._waiting :]
            yield read(store.marks[:, -self._waiting :].astype(np.int64))

    def _change(
        self, keys: Callable[[Floats], Floats], words: Callable[[Ints], Ints], store: Store, index: Trees
    ) -> None:
        """Write what these make of keys and of words in place of all that is `_held`."""
        if isinstance(index, ordered.Index):
            index.floats[ordered.KEY] = keys(index.floats[ordered.KEY])
            if index.head[ordered.WORD]:
                row = index.ints[index.head[ordered.WORD]]
                row[...] = words(row.astype(np.int64))
        if self._waiting:
            store.values[-self._waiting :] = keys(store.values[-self._waiting :])
            marks = store.marks[:, -self._waiting :]
            marks[...] = words(marks.astype(np.int64))


def _floats(words: Ints) -> Floats:
    """Words as the float64 numbers whose bits they are."""
    return np.ascontiguousarray(words).view(np.float64)


def _codes(words: Ints) -> Floats:
    """The codes of words (`_words`)."""
    return _floats(np.where((words < 0) & (words != _LEAST), -words, words))


def _words(codes: Floats, negative: NDArray[np.bool_]) -> Ints:
    """Codes as words; `negative`: whether each is that of a negative number."""
    bits = np.ascontiguousarray(codes).view(np.int64)
    return np.where(negative & np.isfinite(codes), -bits, bits)
