"""Ids of results: 128 bits, hashed from their defining values, equal in every later version."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.hashing import GOLDEN, OTHER, scattered
from saffron.engine.kernels.jit import jitable, kernel
from saffron.engine.kernels.numba_types import int64, types, uint8, uint64, void

_BYTES = types.Array(uint8, 1, "C", readonly=True)
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)


def seeds(text: str) -> NDArray[np.uint64]:
    """uint64 [2]: the initial hash of a query's results, from the query's normalised text."""
    digest = hashlib.sha256(text.encode()).digest()
    return np.frombuffer(digest[:16], ">u8").astype(np.uint64)


@jitable(forceinline=True, _nrt=False)
def _appended(one, other, word):  # type: ignore[no-untyped-def]
    """Two chains of hashes with a word appended to each: h = scattered((h ^ word) + constant)."""
    return scattered((one ^ word) + np.uint64(GOLDEN)), scattered((other ^ word) + np.uint64(OTHER))


@kernel(void(uint64[::1], int64[:, ::1], int64[:, ::1], int64[::1], uint64[:, ::1]))
def identify(start, heads, counts, seqs, out):  # type: ignore[no-untyped-def]
    """Write to `out` [n, 2] 128-bit hashes of a column of `heads`, then each component's count and seqs."""
    at = 0
    for i in range(counts.shape[0]):
        a, b = start[0], start[1]
        for k in range(heads.shape[0]):
            a, b = _appended(a, b, np.uint64(heads[k, i]))
        for part in range(counts.shape[1]):
            a, b = _appended(a, b, np.uint64(counts[i, part]))
            for _ in range(counts[i, part]):
                a, b = _appended(a, b, np.uint64(seqs[at]))
                at += 1
        out[i, 0], out[i, 1] = a, b


@kernel(void(uint64[:, ::1], _BYTES, uint8[:, ::1]))
def hexadecimal(ids, digits, out):  # type: ignore[no-untyped-def]
    """Write to `out` [n, 32] the hashes as hex digits, the most significant first."""
    for i in range(ids.shape[0]):
        for half in range(2):
            for digit in range(16):
                nibble = (ids[i, half] >> np.uint64(60 - 4 * digit)) & np.uint64(15)
                out[i, half * 16 + digit] = digits[nibble]


def digits(ids: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """uint8 [n, 32]: hex digits of the hashes."""
    out = np.empty((len(ids), 32), np.uint8)
    hexadecimal(ids, _HEX, out)
    return out
