"""Keys and vectors of a stream's features, event by event (papers G1, G4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.columns import Columns
from saffron.engine.kernels.slot_table import table_of
from saffron.engine.models.features.feature_columns import KindCodes, numbers_in, truths_in
from saffron.engine.models.features.feature_kernel import HEAD, HELD, KEYS, advance
from saffron.engine.models.features.features import FeatureSpec
from saffron.engine.models.features.zobrist import keys_of, numbers_of

Keys = NDArray[np.uint64]
Vectors = NDArray[np.int16]

MOST_KEYS = 1 << 18
"""Distinct keys remembered; a block that finds more begins anew."""
_FIRST_KEYS = 256


@dataclass(frozen=True)
class Features:
    """Features of n events of a block.

    `keys`: uint64 [n]. `slots`: int32 [n], the place of each event's key among the distinct keys met so far, so that
    what is computed of a key once can be looked up by a place. `vectors`: int16 [distinct, d], by slot; `distinct`:
    uint64, their keys. `generation` rises when slots begin anew.
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
    """The features of one partition's stream. However it is cut into blocks, each event has the same."""

    def __init__(self, spec: FeatureSpec) -> None:
        self.spec = spec
        self._codes = KindCodes(spec)
        self._numbers = numbers_of(spec)
        self._edges, self._edge_count = _padded(spec)
        self._frequency_bin = _frequency_bins(spec)
        self._counts = np.zeros(spec.codes, dtype=np.int64)
        self._cursor = np.zeros(3, dtype=np.int64)
        self._pane_key = _key_of_empty_pane(spec, self._numbers)
        self._ring_kind = np.zeros(_power_of_two(spec.pane.length + 1 if spec.pane.events else 64), dtype=np.int32)
        self._ring_ts = np.zeros(len(self._ring_kind), dtype=np.int64)
        self._stored: Keys = np.empty(0, dtype=np.uint64)
        self._vectors: Vectors = np.empty((0, 0), dtype=np.int16)
        self._generation = -1
        self.forget()

    def forget(self) -> None:
        """Let keys count as new again, as at a checkpoint; the pane stays."""
        self._generation += 1
        self._cursor[KEYS] = 0
        self._make_room(_FIRST_KEYS, kept=0)
        self._told = 0

    def apply(self, columns: Columns) -> Features:
        """Features of the next events; FeatureError where they lack an attribute or have it of another kind."""
        n = len(columns)
        if self._cursor[KEYS] >= MOST_KEYS:
            self.forget()
        if not self.spec.pane.events:
            self._widen_ring(n)
        keys, slots = np.empty(n, dtype=np.uint64), np.empty(n, dtype=np.int32)
        kinds, values, truths = self._codes.of(columns), numbers_in(self.spec, columns), truths_in(self.spec, columns)
        ts = np.ascontiguousarray(columns.ts)
        at = 0
        while True:
            at = advance(
                kinds, ts, values, truths,
                self.spec.pane.length, self.spec.pane.events, self._ring_kind, self._ring_ts, self._counts,
                self._pane_key, self._cursor,
                self._frequency_bin, self._edges, self._edge_count, self._numbers,
                self._table, self._stored, self._vectors,
                at, keys, slots,
            )  # fmt: skip
            if at == n:
                break
            self._make_room(2 * len(self._stored), kept=int(self._cursor[KEYS]))
        distinct = int(self._cursor[KEYS])
        return Features(keys, slots, self._stored[:distinct], self._vectors[:distinct], self._generation)

    def news(self) -> dict[int, tuple[int, ...]]:
        """Vectors by key of those met since the last call, or since `forget`: what `Block.features` carries."""
        distinct = int(self._cursor[KEYS])
        told, self._told = self._told, distinct
        keys, vectors = self._stored[told:distinct].tolist(), self._vectors[told:distinct].tolist()
        return {key: tuple(vector) for key, vector in zip(keys, vectors, strict=True)}

    # ------------------------------------------------------------ inside

    def _held(self) -> NDArray[np.int64]:
        """Places in the ring of the pane's events, oldest first."""
        places = self._cursor[HEAD] + np.arange(self._cursor[HELD])
        held: NDArray[np.int64] = places & (len(self._ring_kind) - 1)
        return held

    def _widen_ring(self, more: int) -> None:
        """Room for the pane in time and all of the next events."""
        wanted = int(self._cursor[HELD]) + more
        if wanted <= len(self._ring_kind):
            return
        held, size = self._held(), _power_of_two(wanted)
        kinds, times = np.zeros(size, dtype=np.int32), np.zeros(size, dtype=np.int64)
        kinds[: len(held)], times[: len(held)] = self._ring_kind[held], self._ring_ts[held]
        self._ring_kind, self._ring_ts = kinds, times
        self._cursor[HEAD] = 0

    def _make_room(self, size: int, kept: int) -> None:
        """Room for `size` distinct keys, of which the first `kept` are there already."""
        stored: Keys = np.zeros(size, dtype=np.uint64)
        vectors: Vectors = np.zeros((size + 1, len(self.spec.fields)), dtype=np.int16)
        if kept:
            stored[:kept], vectors[:kept] = self._stored[:kept], self._vectors[:kept]
        self._stored, self._vectors = stored, vectors
        self._table = table_of(stored[:kept], 2 * size)


def rows_of(spec: FeatureSpec, vectors: Mapping[int, tuple[int, ...]], keys: Iterable[int]) -> Vectors:
    """int16 [n, fields]: the vectors of these keys, all of which are there."""
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
    """int32: the bin of each frequency; the last one is that of all above."""
    most = max(spec.frequency_edges, default=0)
    return np.searchsorted(np.array(spec.frequency_edges), np.arange(most + 1), side="right").astype(np.int32)


def _key_of_empty_pane(spec: FeatureSpec, numbers: Keys) -> Keys:
    return np.array([np.bitwise_xor.reduce(numbers[1 : 1 + spec.codes, 0])], dtype=np.uint64)


def _power_of_two(least: int) -> int:
    return 1 << max(0, least - 1).bit_length()
