"""Keys and vectors of a stream's features, event by event (papers G1, G4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.columns import Columns
from saffron.engine.kernels.addresses import AddressTable
from saffron.engine.kernels.slot_table import table_of
from saffron.engine.models.features.feature_columns import KindCodes, numbers_in, truths_in
from saffron.engine.models.features.feature_kernel import HEAD, HELD, KEYS, STATE, State, advance
from saffron.engine.models.features.features import FeatureSpec
from saffron.engine.models.features.zobrist import keys_of, numbers_of

Keys = NDArray[np.uint64]
Vectors = NDArray[np.int16]

MOST_KEYS = 1 << 18
"""The most distinct keys remembered; a block with more begins with none."""
_FIRST_KEYS = 256


@dataclass(frozen=True)
class Features:
    """Features of n events of a block.

    `keys`: uint64 [n]. `slots`: int32 [n], the place of each event's key among the distinct keys met so far. What is
    computed of a key once can be looked up by its slot. `vectors`: int16 [distinct, d], by slot. `distinct`: uint64,
    their keys. `generation` rises when slots begin anew.
    """

    keys: Keys
    slots: NDArray[np.int32]
    distinct: Keys
    vectors: Vectors
    generation: int

    def rows(self) -> Vectors:
        """int16 [n, d]: the vector of each event."""
        return self.vectors[self.slots]


class FeatureKeys:
    """The features of one partition's stream, event by event. The boundaries of blocks have no effect."""

    def __init__(self, spec: FeatureSpec) -> None:
        self.spec = spec
        self._codes = KindCodes(spec)
        numbers = numbers_of(spec)
        edges, edge_count = _padded(spec)
        ring = _power_of_two(spec.pane.length + 1 if spec.pane.events else 64)
        self._state = State(
            ring_kind=np.zeros(ring, dtype=np.int32),
            ring_ts=np.zeros(ring, dtype=np.int64),
            counts=np.zeros(spec.codes, dtype=np.int64),
            pane_key=_key_of_empty_pane(spec, numbers),
            cursor=np.zeros(3, dtype=np.int64),
            frequency_bin=_frequency_bins(spec),
            edges=edges,
            edge_count=edge_count,
            numbers=numbers,
            table=np.empty(0, dtype=np.int32),
            stored=np.empty(0, dtype=np.uint64),
            vectors=np.empty((0, 0), dtype=np.int16),
        )
        self._by_address = AddressTable(STATE)
        self._generation = -1
        self.forget()

    def forget(self) -> None:
        """Let keys count as new again, as at a checkpoint; the pane stays."""
        self._generation += 1
        self._state.cursor[KEYS] = 0
        self._make_room(_FIRST_KEYS, kept=0)
        self._reported = 0

    def apply(self, columns: Columns) -> Features:
        """Features of the next events; FeatureError where they lack an attribute or have it of another kind."""
        n = len(columns)
        if self._distinct >= MOST_KEYS:
            self.forget()
        if not self.spec.pane.events:
            self._widen_ring(n)
        keys, slots = np.empty(n, dtype=np.uint64), np.empty(n, dtype=np.int32)
        kinds, values, truths = self._codes.of(columns), numbers_in(self.spec, columns), truths_in(self.spec, columns)
        ts, pane = np.ascontiguousarray(columns.ts), self.spec.pane
        at = 0
        while True:
            state = self._by_address.of(self._state)
            at = advance(kinds, ts, values, truths, pane.length, pane.events, state, at, keys, slots)
            if at == n:
                break
            self._make_room(2 * len(self._state.stored), kept=self._distinct)
        stored, vectors = self._state.stored[: self._distinct], self._state.vectors[: self._distinct]
        return Features(keys, slots, stored, vectors, self._generation)

    def news(self) -> dict[int, tuple[int, ...]]:
        """Vectors by key of those met since the last call, or since `forget`: what `Block.features` carries."""
        reported, self._reported = self._reported, self._distinct
        keys, vectors = (
            array[reported : self._distinct].tolist() for array in (self._state.stored, self._state.vectors)
        )
        return {key: tuple(vector) for key, vector in zip(keys, vectors, strict=True)}

    # ------------------------------------------------------------ inside

    @property
    def _distinct(self) -> int:
        return int(self._state.cursor[KEYS])

    def _widen_ring(self, more: int) -> None:
        """Room for the pane in time and all of the next events."""
        state = self._state
        head, count = state.cursor[HEAD], int(state.cursor[HELD])
        if count + more <= len(state.ring_ts):
            return
        held, size = (head + np.arange(count)) & (len(state.ring_ts) - 1), _power_of_two(count + more)
        kinds, times = np.zeros(size, dtype=np.int32), np.zeros(size, dtype=np.int64)
        kinds[:count], times[:count] = state.ring_kind[held], state.ring_ts[held]
        self._state = state._replace(ring_kind=kinds, ring_ts=times)
        state.cursor[HEAD] = 0

    def _make_room(self, size: int, kept: int) -> None:
        """Room for `size` distinct keys, of which the first `kept` are there already."""
        stored: Keys = np.zeros(size, dtype=np.uint64)
        vectors: Vectors = np.zeros((size + 1, len(self.spec.fields)), dtype=np.int16)
        if kept:
            stored[:kept], vectors[:kept] = self._state.stored[:kept], self._state.vectors[:kept]
        table = table_of(stored[:kept], 2 * size)
        self._state = self._state._replace(table=table, stored=stored, vectors=vectors)


def rows_of(spec: FeatureSpec, vectors: Mapping[int, tuple[int, ...]], keys: Iterable[int]) -> Vectors:
    """int16 [n, fields]: the vectors of these keys, which `vectors` must have."""
    return np.array([vectors[key] for key in keys], dtype=np.int16).reshape(-1, len(spec.fields))


def content_keys(spec: FeatureSpec, vectors: Vectors) -> Keys:
    """uint64 [n]: the part of vectors' keys that the event alone decides, without the pane."""
    return keys_of(vectors, numbers_of(spec), spec.content)


def _padded(spec: FeatureSpec) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    count = np.array([len(one.edges) for one in spec.attributes], dtype=np.int64)
    edges = np.zeros((len(count), int(count.max(initial=0))))
    for row, one in enumerate(spec.attributes):
        edges[row, : len(one.edges)] = one.edges
    return edges, count


def _frequency_bins(spec: FeatureSpec) -> NDArray[np.int32]:
    """int32: the bin of each frequency; the last bin also holds all greater ones."""
    most = max(spec.frequency_edges, default=0)
    return np.searchsorted(np.array(spec.frequency_edges), np.arange(most + 1), side="right").astype(np.int32)


def _key_of_empty_pane(spec: FeatureSpec, numbers: Keys) -> Keys:
    return np.array([np.bitwise_xor.reduce(numbers[1 : 1 + spec.codes, 0])], dtype=np.uint64)


def _power_of_two(least: int) -> int:
    return 1 << max(0, least - 1).bit_length()
