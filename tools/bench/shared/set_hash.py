"""The hash of a set of matches: 64 bits, the same in whatever order they are; the peers' adapters compute it too."""

from __future__ import annotations

import numpy as np
from numba import int64, uint64

from saffron.engine.kernels.jit import jitable, kernel

_END = 0xFFFFFFFF  # closes a component
_LANES = 4
_PRIME = 1099511628211
_BASIS = 1469598103934665603


@kernel(uint64(int64[:, ::1], int64[::1]))
def set_hash(counts, seqs):  # type: ignore[no-untyped-def]
    """The sum over the matches of FNV-1a over their sequence numbers by component, mixed.

    counts [matches, components]; seqs: all matches' sequence numbers, match by match, by component. Four matches go on
    side by side: each step of one waits for the step before it.
    """
    total, begin = uint64(0), 0
    at, value = np.empty(_LANES, np.int64), np.empty(_LANES, np.uint64)
    for first in range(0, counts.shape[0], _LANES):
        width = min(_LANES, counts.shape[0] - first)
        for lane in range(width):
            at[lane], value[lane] = begin, uint64(_BASIS)
            for component in range(counts.shape[1]):
                begin += counts[first + lane, component]
        for component in range(counts.shape[1]):
            together = counts[first, component] if width == _LANES else 0
            for lane in range(1, width):
                together = min(together, counts[first + lane, component])
            if together > _LANES:
                _together(seqs, together, at, value)
            else:
                together = 0
            for lane in range(width):
                own = value[lane]
                for k in range(counts[first + lane, component] - together):
                    own = (own ^ uint64(seqs[at[lane] + k])) * uint64(_PRIME)
                at[lane] += counts[first + lane, component] - together
                value[lane] = (own ^ uint64(_END)) * uint64(_PRIME)
        for lane in range(width):
            mixed = (value[lane] ^ (value[lane] >> uint64(29))) * uint64(0xBF58476D1CE4E5B9)
            total += mixed ^ (mixed >> uint64(32))
    return total


@jitable
def _together(seqs, steps, at, value):  # type: ignore[no-untyped-def]
    """Hash `steps` events of each of four matches."""
    a, b, c, d = at[0], at[1], at[2], at[3]
    prime = uint64(_PRIME)
    v, w, x, y = value[0], value[1], value[2], value[3]
    for k in range(steps):
        v = (v ^ uint64(seqs[a + k])) * prime
        w = (w ^ uint64(seqs[b + k])) * prime
        x = (x ^ uint64(seqs[c + k])) * prime
        y = (y ^ uint64(seqs[d + k])) * prime
    value[0], value[1], value[2], value[3] = v, w, x, y
    for lane in range(_LANES):
        at[lane] += steps
