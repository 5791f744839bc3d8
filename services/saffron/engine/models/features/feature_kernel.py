"""The kernel behind keys of features (papers G4): the pane's key is kept up with at most four XORs an event."""

from __future__ import annotations

import numpy as np

from saffron.engine.kernels.jit import inlined, kernel
from saffron.engine.kernels.numba_types import boolean, float64, int16, int32, int64, uint64
from saffron.engine.kernels.slot_table import place_of

HEAD, HELD, KEYS = range(3)  # cursor: the pane's oldest event in its ring, events in the pane, distinct keys so far


@inlined
def _count(kind, by, counts, frequency_bin, numbers, pane_key):  # type: ignore[no-untyped-def]
    """One event more, or one less, of a kind in the pane."""
    last = len(frequency_bin) - 1
    before = frequency_bin[min(counts[kind], last)]
    counts[kind] += by
    after = frequency_bin[min(counts[kind], last)]
    pane_key[0] ^= numbers[1 + kind, before] ^ numbers[1 + kind, after]


@inlined
def _leave(ring_kind, mask, cursor, counts, frequency_bin, numbers, pane_key):  # type: ignore[no-untyped-def]
    """The oldest event leaves the pane."""
    _count(ring_kind[cursor[HEAD] & mask], -1, counts, frequency_bin, numbers, pane_key)
    cursor[HEAD] += 1
    cursor[HELD] -= 1


@inlined
def _bin(value, edges, attribute, count):  # type: ignore[no-untyped-def]
    """How many edges are not above the value; that of null lies behind all."""
    if np.isnan(value):
        return count + 1
    found = 0
    for e in range(count):
        found += edges[attribute, e] <= value
    return found


@kernel(
    int64(
        int32[::1], int64[::1], float64[:, ::1], int16[:, ::1],  # events: kind, ts, attributes, conditions
        int64, boolean, int32[::1], int64[::1], int64[::1], uint64[::1], int64[::1],  # pane
        int32[::1], float64[:, ::1], int64[::1], uint64[:, ::1],  # bins, numbers
        int32[::1], uint64[::1], int16[:, ::1],  # distinct keys
        int64, uint64[::1], int32[::1],  # start, out
    ),
    _nrt=False,
)  # fmt: skip
def advance(  # type: ignore[no-untyped-def]
    kind, ts, values, truths,
    length, by_events, ring_kind, ring_ts, counts, pane_key, cursor,
    frequency_bin, edges, edge_count, numbers,
    table, stored, vectors,
    start, keys, slots,
):  # fmt: skip
    """Keys and slots (places among the distinct keys) of events start.. ; stops where there is no room for a key."""
    codes, width, last = len(counts), numbers.shape[0], len(frequency_bin) - 1
    mask = len(ring_kind) - 1
    content = 1 + codes
    vector = vectors[vectors.shape[0] - 1]  # the last row is room to work in
    for i in range(start, len(kind)):
        while cursor[HELD] > 0 and not by_events and ring_ts[cursor[HEAD] & mask] < ts[i] - length:
            _leave(ring_kind, mask, cursor, counts, frequency_bin, numbers, pane_key)
        vector[0] = kind[i]
        key = pane_key[0] ^ numbers[0, kind[i]]
        for a in range(values.shape[0]):
            bin_ = _bin(values[a, i], edges, a, edge_count[a])
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
            _leave(ring_kind, mask, cursor, counts, frequency_bin, numbers, pane_key)
        place = (cursor[HEAD] + cursor[HELD]) & mask
        ring_kind[place] = kind[i]
        ring_ts[place] = ts[i]
        cursor[HELD] += 1
        _count(kind[i], 1, counts, frequency_bin, numbers, pane_key)
    return len(kind)
