"""A range of a block as a query sees it: which events are delivered to it, which can matter, and their keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.block import Block
from saffron.engine.events.columns import Column, Columns, is_null, masked
from saffron.engine.events.key_words import words_of
from saffron.engine.events.strings import Strings
from saffron.engine.kernels.jit import kernel
from saffron.engine.kernels.numba_types import boolean, int32, int64, types, void
from saffron.engine.match.core.keys import Keys
from saffron.language.plan.pairs import rest_of_name
from saffron.schema.schema import Kind

Array = NDArray[np.generic]

NO_SLOT = -1
"""The slot of an event without a key, or with a key of which there are no runs."""


@dataclass(frozen=True)
class Range:
    """Events [low, high) of a block's columns."""

    columns: Columns
    low: int
    high: int

    def __len__(self) -> int:
        return self.high - self.low

    @property
    def seq(self) -> NDArray[np.int64]:
        return self.columns.seq[self.low : self.high]

    @property
    def ts(self) -> NDArray[np.int64]:
        return self.columns.ts[self.low : self.high]

    @property
    def latest(self) -> NDArray[np.int64]:
        """The last instants at which the events may have happened."""
        return self.ts if self.columns.latest is None else self.columns.latest[self.low : self.high]

    @property
    def time(self) -> NDArray[np.int64]:
        return self.columns.time[self.low : self.high]

    def opened(self, block: Block, name: str) -> list[int]:
        """The positions in the range at which windows of a query open (OPEN ON). `block`: the range's."""
        low = block.first_seq if self.low == 0 else int(self.columns.seq[self.low])
        high = block.next_seq if self.high == len(self.columns) else int(self.columns.seq[self.high])
        return [position for position in block.opened.get(name, ()) if low <= position < high]

    def column(self, name: str) -> Column:
        """An attribute's column, `ts` and `type` included; one of kind NUMBER is read as two (`plan.pairs`)."""
        if name == "ts":
            return Column(Kind.INT, self.columns.ts)
        if name == "type":
            return self.columns.type
        whole = rest_of_name(name)
        column = self.columns.attributes[name if whole is None else whole]
        if column.kind is not Kind.NUMBER:
            return column
        data = column.data.real if whole is None else column.data.imag
        return Column(Kind.FLOAT, np.ascontiguousarray(data))

    def data(self, name: str) -> Array:
        """The values of an attribute, aligned and contiguous, as kernels take them."""
        return np.require(self.column(name).data[self.low : self.high], requirements=("C", "A"))

    def dropped(self, slot: int) -> NDArray[np.bool_] | None:
        """[n] whether each event was dropped for the query with this slot (-1: it has none); None if none was."""
        if self.columns.dropped is None or slot < 0:
            return None
        dropped = masked(self.columns.dropped[self.low : self.high], slot)
        return dropped if dropped.any() else None


def interned(part: Range, name: str, strings: Strings, chosen: slice | NDArray[np.intp]) -> Array:
    """The chosen values of an attribute as rows keep them: strings as the operator's codes."""
    column = part.column(name)
    values = part.data(name)[chosen]
    if not column.kind.has_texts:
        return values
    codes = np.empty(len(values), np.int32)
    _translate(values, strings.mapping(name, column), codes)
    return codes


def key_matrix(
    part: Range, attributes: tuple[str, ...], strings: Strings, chosen: slice | NDArray[np.intp], count: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None]:
    """int64 [attributes, n]: the chosen events' keys; and [n] whether all their parts are there (None: all are)."""
    matrix = np.empty((len(attributes), count), np.int64)
    present: NDArray[np.bool_] | None = None
    for row, name in enumerate(attributes):
        values = interned(part, name, strings, chosen)
        kind = part.column(name).kind
        here = ~is_null(kind, values)
        matrix[row] = words_of(kind, values)
        if not here.all():
            present = here if present is None else present & here
    return matrix, present


def slots_by_code(
    part: Range, name: str, strings: Strings, chosen: slice | NDArray[np.intp], create: NDArray[np.bool_], keys: Keys
) -> NDArray[np.int64] | None:
    """The slots of keys that are one string, looked up once per distinct string; None where that saves nothing."""
    column = part.column(name)
    distinct = len(column.values)
    if not column.kind.has_texts or 4 * distinct > len(create):
        return None
    codes = part.data(name)[chosen]
    wanted = np.zeros(distinct + 1, np.bool_)
    _mark(codes, create, wanted)
    matrix = strings.mapping(name, column)[:-1].astype(np.int64).reshape(1, -1)
    slots = np.append(keys.slots(matrix, wanted[:-1].copy()), NO_SLOT)
    return taken(slots, codes)


def taken(values: NDArray[np.int64], codes: Array) -> NDArray[np.int64]:
    """[n] the value of each code, which are int32; that of -1 comes last. (NumPy would widen the codes first.)"""
    found = np.empty(len(codes), np.int64)
    _gather(codes, values, found)
    return found


_CODES = types.Array(types.int32, 1, "C", readonly=True)


@kernel(void(_CODES, boolean[::1], boolean[::1]))
def _mark(codes, create, wanted):  # type: ignore[no-untyped-def]
    """Set `wanted` at the codes of events with `create`; the code of null, -1, is the last place."""
    for i in range(len(codes)):
        wanted[codes[i]] |= create[i]


@kernel(void(_CODES, int32[::1], int32[::1]))
def _translate(values, mapping, codes):  # type: ignore[no-untyped-def]
    for i in range(len(values)):
        codes[i] = mapping[values[i]]


@kernel(void(_CODES, int64[::1], int64[::1]))
def _gather(codes, slots, found):  # type: ignore[no-untyped-def]
    for i in range(len(codes)):
        found[i] = slots[codes[i]]


def type_bits(column: Column, mask: Callable[[str], int]) -> NDArray[np.int64]:
    """int64 [distinct types of the block]: the mask of each type."""
    return np.fromiter((mask(value) for value in column.values), np.int64, len(column.values))
