"""The kernel behind keys of features (papers G4): the pane's key is kept up with at most four XORs an event."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.addresses import Reference, arrays_of, reader
from saffron.engine.kernels.jit import inlined, kernel
from saffron.engine.kernels.numba_types import boolean, float64, int16, int32, int64, uint64
from saffron.engine.kernels.slot_table import place_of

HEAD, HELD, KEYS = range(3)  # cursor: the pane's oldest event in its ring, events in the pane, distinct keys so far


class State(NamedTuple):
    """The pane of one partition's stream, the bins and numbers of its features, and the distinct keys met so far."""

    ring_kind: NDArray[np.int32]  # [a power of two] the pane's events as a ring: their kinds, their times
    ring_ts: NDArray[np.int64]
    counts: NDArray[np.int64]  # [kinds] how many events of the pane are of each
    pane_key: NDArray[np.uint64]  # [1]
    cursor: NDArray[np.int64]  # [3]
    frequency_bin: NDArray[np.int32]  # the bin of each frequency; the last one is that of all above
    edges: NDArray[np.float64]  # [attributes, edges]
    edge_count: NDArray[np.int64]  # [attributes]
    numbers: NDArray[np.uint64]  # [fields, values] (`zobrist`)
    table: NDArray[np.int32]  # slots by key (`slot_table`)
    stored: NDArray[np.uint64]  # [room] keys by slot
    vectors: NDArray[np.int16]  # [room + 1, fields] vectors by slot; the last row is room to work in


STATE = Reference("features.State", arrays_of(State, {2: "edges numbers vectors"}))
_state_in = reader(STATE)


@inlined
def _count(kind, by, state):  # type: ignore[no-untyped-def]
    """Add `by` (1 or -1) to the count of a kind in the pane, and update the pane's key."""
    counts, frequency_bin, numbers = state.counts, state.frequency_bin, state.numbers
    last = len(frequency_bin) - 1
    before = frequency_bin[min(counts[kind], last)]
    counts[kind] += by
    after = frequency_bin[min(counts[kind], last)]
    state.pane_key[0] ^= numbers[1 + kind, before] ^ numbers[1 + kind, after]


@inlined
def _leave(state):  # type: ignore[no-untyped-def]
    """The oldest event leaves the pane."""
    cursor = state.cursor
    _count(state.ring_kind[cursor[HEAD] & (len(state.ring_kind) - 1)], -1, state)
    cursor[HEAD] += 1
    cursor[HELD] -= 1


@inlined
def _bin(value, edges, attribute, count):  # type: ignore[no-untyped-def]
    """The bin of a value: the number of edges that are not above it. The bin of null lies behind all others."""
    if np.isnan(value):
        return count + 1
    found = 0
    for e in range(count):
        found += edges[attribute, e] <= value
    return found


@kernel(
    int64(
        int32[::1], int64[::1], float64[:, ::1], int16[:, ::1],  # events: kind, ts, attributes, conditions
        int64, boolean, int64[::1],  # the pane's length, whether that is events; the table of the state
        int64, uint64[::1], int32[::1],  # start, out
    ),
    _nrt=False,
)  # fmt: skip
def advance(  # type: ignore[no-untyped-def]
    kind, ts, values, truths, length, by_events, state_table, start, keys, slots
):  # fmt: skip
    """Keys and slots (places among the distinct keys) of events start.. ; stops where there is no room for a key."""
    state = _state_in(state_table)
    ring_ts, cursor, counts, frequency_bin = state.ring_ts, state.cursor, state.counts, state.frequency_bin
    numbers, table, stored, vectors = state.numbers, state.table, state.stored, state.vectors
    codes, width, last = len(counts), numbers.shape[0], len(frequency_bin) - 1
    mask = len(ring_ts) - 1
    content = 1 + codes
    vector = vectors[vectors.shape[0] - 1]  # the last row is room to work in
    for i in range(start, len(kind)):
        while cursor[HELD] > 0 and not by_events and ring_ts[cursor[HEAD] & mask] < ts[i] - length:
            _leave(state)
        vector[0] = kind[i]
        key = state.pane_key[0] ^ numbers[0, kind[i]]
        for a in range(values.shape[0]):
            bin_ = _bin(values[a, i], state.edges, a, state.edge_count[a])
            vector[content + a] = bin_
            key ^= numbers[content + a, bin_]
        for c in range(truths.shape[0]):
            field = content + values.shape[0] + c
            vector[field] = truths[c, i]
            key ^= numbers[field, truths[c, i]]
        at = place_of(table, stored, key)
        if table[at] < 0:
            new = cursor[KEYS]
            if new >= len(stored):
                return i
            for k in range(codes):
                vector[1 + k] = frequency_bin[min(counts[k], last)]
            for f in range(width):
                vectors[new, f] = vector[f]
            stored[new] = key
            table[at] = new
            cursor[KEYS] += 1
        keys[i] = key
        slots[i] = table[at]
        if by_events and cursor[HELD] == length:
            _leave(state)
        place = (cursor[HEAD] + cursor[HELD]) & mask
        state.ring_kind[place] = kind[i]
        ring_ts[place] = ts[i]
        cursor[HELD] += 1
        _count(kind[i], 1, state)
    return len(kind)
