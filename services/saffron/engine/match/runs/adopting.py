"""The change of a query's state to a wider schema, with more attributes and wider kinds.

No value changes, only how it is held; so no answer does. The program is the same but for how it reads what it holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.column_operations import converted
from saffron.engine.events.columns import Column
from saffron.engine.events.key_words import widened_words
from saffron.engine.events.rests import rests_of
from saffron.engine.match.core.automaton import ONE_VALUE, RESTS, Feature, State, What
from saffron.engine.match.core.held import column_name, kinds_held
from saffron.engine.match.core.keys import Keys
from saffron.engine.match.core.pools import Pool
from saffron.engine.match.core.rows import Rows
from saffron.engine.match.core.runs import FIRST_FEATURE
from saffron.language.plan.pairs import rest_name, rest_of_name
from saffron.schema.computed import without_kind
from saffron.schema.schema import NULL_INT, Kind, Schema

Array = NDArray[Any]

_COUNTED = (What.SUM, What.NUMBER, What.MEAN, What.SPREAD, What.LENGTH)


def adopt_rows(rows: Rows, old: Schema, new: Schema) -> None:
    """Change the attribute columns of the rows to those of the new schema; a new column is null in all rows."""
    known = {without_kind(name): name for name in old.kinds}
    for name, kind in new.kinds.items():
        was = known.get(without_kind(name))
        if was is None:
            column = Column(kind.column, np.full(rows.capacity, kind.null, kind.dtype))
        elif was == name and old.kinds[was].column is kind.column:
            continue
        else:
            column = converted(_column(rows.columns, was, old.kinds[was]), kind)
        for part, its in kinds_held(name, kind).items():
            rows.columns[column_name(part)] = np.ascontiguousarray(_part(column, part).data, its.dtype)


def adopt_keys(keys: Keys, old_key: Sequence[str], new_key: Sequence[str], old: Schema, new: Schema) -> Keys:
    """The same keys in the same slots, as words of the new schema's kinds."""
    if [old.kinds.get(name) for name in old_key] == [new.kinds.get(name) for name in new_key]:
        return keys
    held = np.asarray(keys.arrays()["held"], np.int64)
    return keys.renamed(widened_words(held, old_key, new_key, old.kinds, new.kinds))


def adopt_pool(pool: Pool, old: State, new: State) -> None:
    """Change the runs of a state to the features of the new state; rows behind the features stay."""
    values = {_place(one): (one, pool.floats[at]) for at, one in enumerate(old.floats)}
    values |= {_place(one): (one, pool.ints[FIRST_FEATURE + at]) for at, one in enumerate(old.ints)}
    lanes = len(pool.heads)
    floats = [_feature(one, values, lanes) for one in new.floats]
    ints = [_feature(one, values, lanes) for one in new.ints]
    before, behind = pool.ints[:FIRST_FEATURE], pool.ints[FIRST_FEATURE + len(old.ints) :]
    pool.put(
        np.array(floats, np.float64).reshape(len(floats), lanes),
        np.concatenate([before, np.array(ints, np.int64).reshape(len(ints), lanes), behind]),
    )


def _place(feature: Feature) -> tuple[object, ...]:
    """The identity of a feature, without the kind of its values."""
    return feature.component, feature.what, without_kind(feature.name), feature.back, feature.function


def _feature(feature: Feature, values: Mapping[tuple[object, ...], tuple[Feature, Array]], lanes: int) -> Array:
    """[lanes] the values of a feature."""
    known = values.get(_place(feature))
    if known is not None:
        return _held(*known, feature)
    whole = rest_of_name(feature.name)
    what = RESTS.get(feature.what, feature.what)
    name = without_kind(feature.name if whole is None else whole)
    source = (feature.component, what, name, feature.back, feature.function)
    if (whole is not None or feature.what in RESTS) and source in values:
        held, numbers = values[source]
        return np.zeros(lanes) if held.floating else rests_of(numbers)
    if feature.what in _COUNTED:
        return np.zeros(lanes)  # of an attribute that no event had
    return np.full(lanes, feature.kind.null, feature.kind.dtype)


def _held(held: Feature, values: Array, feature: Feature) -> Array:
    if feature.what not in ONE_VALUE or held.kind.column is feature.kind.column:
        return values
    if held.floating:  # it was null throughout
        return np.full(len(values), feature.kind.null, feature.kind.dtype)
    return np.where(values == NULL_INT, np.nan, values.astype(np.float64)) if feature.floating else values


def _column(columns: Mapping[str, Array], name: str, kind: Kind) -> Column:
    """An attribute as rows hold it."""
    data = columns[column_name(name)]
    if kind is not Kind.NUMBER:
        return Column(kind.column, data)
    pairs = np.empty(len(data), np.complex128)
    pairs.real, pairs.imag = data, columns[column_name(rest_name(name))]
    return Column(kind, pairs)


def _part(column: Column, name: str) -> Column:
    """The part of a column that rows keep under a name."""
    if column.kind is not Kind.NUMBER:
        return column
    data: Array = column.data
    return Column(Kind.FLOAT, data.real if rest_of_name(name) is None else data.imag)
