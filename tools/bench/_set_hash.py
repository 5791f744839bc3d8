"""The hash of a set of matches: 64 bits, the same in whatever order they are; the peers' adapters compute it too."""

from __future__ import annotations

from numba import int64, uint64

from saffron.engine.jit import kernel

_END = 0xFFFFFFFF  # closes a component


@kernel(uint64(int64[:, ::1], int64[::1]))
def set_hash(counts, seqs):  # type: ignore[no-untyped-def]
    """The sum over the matches of FNV-1a over their sequence numbers by component, mixed.

    counts [matches, components]; seqs: all matches' sequence numbers, match by match, by component.
    """
    prime, total, at = uint64(1099511628211), uint64(0), 0
    for i in range(counts.shape[0]):
        value = uint64(1469598103934665603)
        for component in range(counts.shape[1]):
            for _ in range(counts[i, component]):
                value = (value ^ uint64(seqs[at])) * prime
                at += 1
            value = (value ^ uint64(_END)) * prime
        value = (value ^ (value >> uint64(29))) * uint64(0xBF58476D1CE4E5B9)
        total += value ^ (value >> uint64(32))
    return total
