"""The batch of a block: its columns in the form in which a trend query's kernel reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.column_operations import converted
from saffron.engine.events.columns import Column, Columns, is_null, masked
from saffron.engine.events.key_words import words_of
from saffron.engine.events.rests import rests_of
from saffron.engine.events.strings import Strings
from saffron.engine.kernels.hashing import hashes_of
from saffron.engine.trends.codegen.conditions import Reads
from saffron.engine.trends.core import layout
from saffron.engine.trends.core.arrays import Batch, Flags, Floats, Ints, Smalls
from saffron.engine.trends.core.graphs import Graphs
from saffron.engine.trends.core.order import Order, Pairs
from saffron.engine.trends.core.wide import split
from saffron.errors import SaffronError
from saffron.language.plan.pairs import rest_of_name
from saffron.language.plan.pattern import Strategy
from saffron.schema.numbers import value_of_pair
from saffron.schema.schema import NULL_INT, Kind

Coded = Callable[[Floats, Floats], Floats]


def prepare(
    graphs: Graphs,
    needs: Reads,
    strings: Strings,
    columns: Columns,
    slot: int,
    opened: Sequence[int],
    orders: Mapping[str, Order],
) -> Batch:
    """The batch of all events of a block; those that are no vertex for sure have no states, dropped ones are marked.

    `slot`: the query's bit in `Columns.dropped`, negative for none. `opened`: seqs at which an OPEN ON window opens.
    `orders`: of attributes of which extremes are asked that float64 does not hold.
    """
    n = len(columns)
    plan = graphs.plan
    states = states_of(graphs, columns.type)
    words = np.zeros((len(plan.key), n), dtype=np.int64)
    for row, name in enumerate(plan.key):
        words[row], absent = key_words(columns, name, strings)
        states[absent] = 0
    if columns.dropped is not None and slot >= 0:
        states[masked(columns.dropped, slot)] |= layout.DROPPED
    hashes = row_hashes(words)
    by_key = plan.group == plan.key
    group_words = words if by_key else words[[plan.key.index(name) for name in plan.group]]
    attributes = np.empty((len(needs.attributes), n), dtype=np.float64)
    for row, (name, kind) in enumerate(needs.attributes):
        if kind.is_wide and name in orders:
            attributes[row] = orders[name].codes_of(pairs_of(columns, name))
        else:
            attributes[row] = numbers_of(columns, name, strings)
    mantissas, exponents = split_of(columns, [name for name, _ in needs.summed])
    trees = (len(graphs.trees), n)
    return Batch(
        seq=_owned(columns.seq),
        ts=_owned(columns.ts),
        time=_owned(columns.time),
        states=states,
        opens=opening(columns.seq, opened),
        hashes=hashes,
        words=words,
        group_hashes=hashes if by_key else row_hashes(group_words),
        group_words=group_words,
        attributes=attributes,
        mantissas=mantissas,
        exponents=exponents,
        range_keys=np.zeros(trees, dtype=np.float64),
        range_own=np.zeros(trees, dtype=np.int64),
        range_words=np.zeros(trees, dtype=np.int64),
        range_lows=np.zeros(trees, dtype=np.float64),
        range_highs=np.zeros(trees, dtype=np.float64),
        ranks=strings.ranks() if needs.ordered else np.zeros(1, dtype=np.int64),
    )


def nothing() -> Batch:
    """The batch of no event, for kernels to be compiled with."""
    none = np.zeros(0, dtype=np.int64)
    words, floats = np.zeros((0, 0), dtype=np.int64), np.zeros((0, 0), dtype=np.float64)
    ranges = (floats, words, words, floats, floats)
    opens, small = none.astype(np.bool_), words.astype(np.int32)
    return Batch(none, none, none, none, opens, none, words, none, words, floats, words, small, *ranges, none)


def ranked(batch: Batch, rank_events: Callable[..., None], coded: Coded | None) -> Batch:
    """The batch with what its events are to the trees (`conditions.write`: `rank_events`).

    `coded`: the codes of values and their rests, [5, trees, n] both; None where float64 tells the values apart.
    """
    values = np.zeros((5, *batch.range_keys.shape))
    rests = np.zeros((5, *batch.range_keys.shape) if coded else (0, 0, 0))
    rank_events(*values, rests, batch.attributes, batch.ranks)
    keys, own, words, lows, highs = coded(values, rests) if coded else values
    return batch._replace(
        range_keys=keys,
        range_own=own.view(np.int64),
        range_words=words.view(np.int64),
        range_lows=lows,
        range_highs=highs,
    )


def states_of(graphs: Graphs, types: Column) -> Ints:
    """[n] bit s is set where the event has the type of state s; OF_KEY where partition contiguity asks for all."""
    every = 1 << layout.OF_KEY if any(s.transition.strategy is Strategy.PARTITION for s in graphs.steps) else 0
    table = np.full(len(types.values) + 1, every, dtype=np.int64)
    for code, name in enumerate(types.values):
        for s, place in enumerate(graphs.places):
            if name in graphs.plan.components[place.state.component].types:
                table[code] |= 1 << s
    states: Ints = table[types.data]
    return states


def split_of(columns: Columns, names: Sequence[str]) -> tuple[Ints, Smalls]:
    """[len(names), n] attributes as mantissa * 2**exponent, exactly; null becomes any number, since it is not added."""
    mantissas = np.zeros((len(names), len(columns)), dtype=np.int64)
    exponents = np.zeros((len(names), len(columns)), dtype=np.int32)
    for row, name in enumerate(names):
        column = column_of(columns, name)
        if column.kind is Kind.INT:
            mantissas[row] = np.where(column.data == NULL_INT, 0, column.data)
            continue
        data: NDArray[Any] = column.data
        mantissas[row], exponents[row] = split(np.asarray(data.real, dtype=np.float64))
        if column.kind is Kind.NUMBER:
            whole = (data.imag != 0.0) & ~np.isnan(data.real)
            mantissas[row, whole] = [int(pair.real) + int(pair.imag) for pair in data[whole].tolist()]
            exponents[row, whole] = 0
    return mantissas, exponents


def column_of(columns: Columns, name: str) -> Column:
    """An attribute's column, or that of the event's own `type` or `ts`; null where the stream lacks it."""
    if name == "type":
        return columns.type
    if name == "ts":
        return Column(Kind.INT, columns.ts)
    whole = rest_of_name(name)
    column = columns.attributes.get(name if whole is None else whole)
    if column is None:
        return Column(Kind.FLOAT, np.full(len(columns), np.nan))
    if whole is None:
        return column
    data: NDArray[Any] = column.data
    return Column(Kind.FLOAT, rests_of(data) if column.kind is Kind.INT else np.ascontiguousarray(data.imag))


def key_words(columns: Columns, name: str, strings: Strings) -> tuple[NDArray[np.signedinteger], Flags]:
    """[n] an attribute's values as words that are equal where the values are, and where the value is null."""
    column = column_of(columns, name)
    if column.kind.has_texts:
        codes = strings.mapping(name, column)[column.data]
        return codes, codes < 0
    return words_of(column.kind, column.data), is_null(column.kind, column.data)


def value_of(word: int, kind: Kind | None, strings: Strings, behind: Iterator[int]) -> int | float | str | bool | None:
    """The value of a word, of kind NUMBER with the first of those `behind` it."""
    if kind is Kind.NUMBER:
        return value_of_pair(complex(*np.array([word, next(behind)]).view(np.float64).tolist()))
    if kind is Kind.STRING:
        return strings.value(word)
    if kind is Kind.FLOAT:
        return float(np.int64(word).view(np.float64))
    return bool(word) if kind is Kind.BOOL else word


def numbers_of(columns: Columns, name: str, strings: Strings) -> Floats:
    """[n] an attribute as conditions read it: float64, null as NaN, a string as its number."""
    column = column_of(columns, name)
    if column.kind in (Kind.FLOAT, Kind.NUMBER):
        return np.ascontiguousarray(column.data.real, dtype=np.float64)
    if column.kind.has_texts:
        data, absent = key_words(columns, name, strings)
    else:
        data = np.asarray(column.data)
        absent = is_null(column.kind, data)
    return np.where(absent, np.nan, data.astype(np.float64))


def pairs_of(columns: Columns, name: str) -> Pairs:
    """[n] an attribute's numbers as pairs (`schema.numbers`), null as NaN."""
    pairs: Pairs = converted(column_of(columns, name), Kind.NUMBER).data.astype(np.complex128)
    return pairs


def row_hashes(words: Ints) -> Ints:
    """[n] a hash, never negative, of each column of words [words, n]: column 0 of keys and groups."""
    hashes = hashes_of(words)
    hashes >>= np.uint64(1)
    return hashes.view(np.int64)


def opening(seq: NDArray[np.int64], opened: Sequence[int]) -> Flags:
    """[n] whether a window opens at the event. An opening event must not have been dropped whole."""
    opens = np.zeros(len(seq), dtype=np.bool_)
    if opened:
        places = np.searchsorted(seq, np.asarray(opened, dtype=np.int64))
        for place, position in zip(places.tolist(), opened, strict=True):
            if place == len(seq) or seq[place] != position:
                message = f"a window opens at event {position}, which was dropped whole; mask such events instead"
                raise SaffronError(message)
        opens[places] = True
    return opens


def _owned(data: NDArray[np.int64]) -> Ints:
    """A contiguous, writable array: kernels are compiled for no other."""
    return np.require(data, dtype=np.int64, requirements=["C", "W"])
