"""Keys as words: int64 that are equal where the values are. A number that no float64 is has two (`plan.pairs`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.column_operations import converted
from saffron.engine.events.columns import Column
from saffron.schema.schema import Kind

Words = NDArray[np.int64]
Key = Sequence[str]
Kinds = Mapping[str, Kind]


def words_of(kind: Kind, values: NDArray[Any]) -> Words:
    """int64 [n]: the words of a column; of one of kind NUMBER those of the nearest float64."""
    if kind in (Kind.FLOAT, Kind.NUMBER):
        floats = np.ascontiguousarray(values.real, np.float64) + 0.0  # -0.0 and 0.0 are one key
        return floats.view(np.int64)
    return values.astype(np.int64)


def widened_words(words: Words, old_key: Key, new_key: Key, old: Kinds, new: Kinds) -> Words:
    """int64 [attributes, n]: words of a key under `old` kinds as they are under `new` ones, which have all values.

    The keys are one, place by place: a computed value has its kind in its name, which is another one then. Words of
    what is no key (a free slot) may stand for anything.
    """
    found: list[Words] = []
    row = 0
    for name, its in zip(old_key, new_key, strict=True):
        kind, wider = old.get(name), new.get(its)
        if kind is None or wider is None:  # `ts` or `type`
            found.append(words[row])
            row += 1
            continue
        column = converted(_column(words[row:], kind), wider)
        row += 2 if kind is Kind.NUMBER else 1
        found.append(words_of(column.kind, column.data))
        if column.kind is Kind.NUMBER:
            rests: NDArray[Any] = column.data
            found.append(words_of(Kind.FLOAT, rests.imag))
    return np.ascontiguousarray(np.stack(found)) if found else words


def _column(words: Words, kind: Kind) -> Column:
    """The values that the first word stands for, of kind NUMBER the first two."""
    first = np.ascontiguousarray(words[0])
    if kind is Kind.NUMBER:
        pairs = np.empty(len(first), np.complex128)
        pairs.real, pairs.imag = first.view(np.float64), np.ascontiguousarray(words[1]).view(np.float64)
        return Column(kind, pairs)
    if kind.column is Kind.FLOAT:
        return Column(Kind.FLOAT, first.view(np.float64))
    return Column(kind.column, first.astype(kind.dtype))
