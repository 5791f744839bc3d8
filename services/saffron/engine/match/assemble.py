"""Kernels that write results: their ids, and their text from the texts of their events."""

from __future__ import annotations

import hashlib

import numpy as np
from numba import int64, types, uint8, uint64, void
from numpy.typing import NDArray

from saffron.engine.jit import kernel
from saffron.engine.match.memory import copy_bytes

_BYTES = types.Array(uint8, 1, "C", readonly=True)
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)


def seeds(text: str) -> NDArray[np.uint64]:
    """uint64 [2]: where the hash of a query's results starts, from the query's normalised text."""
    digest = hashlib.sha256(text.encode()).digest()
    return np.frombuffer(digest[:16], ">u8").astype(np.uint64)


@kernel(uint64(uint64))
def _scatter(value):  # type: ignore[no-untyped-def]
    value ^= value >> np.uint64(33)
    value *= np.uint64(0xFF51AFD7ED558CCD)
    value ^= value >> np.uint64(33)
    value *= np.uint64(0xC4CEB9FE1A85EC53)
    value ^= value >> np.uint64(33)
    return value


@kernel(void(uint64[::1], int64[:, ::1], int64[:, ::1], int64[::1], uint64[:, ::1]))
def identify(start, heads, counts, seqs, out):  # type: ignore[no-untyped-def]
    """out [n, 2]: 128-bit hashes. Of each result: its column of `heads`, then per component the count and the seqs.

    Two chains, each scattered after every word: h = scatter((h ^ word) + constant).
    """
    at = 0
    for i in range(counts.shape[0]):
        a, b = start[0], start[1]
        for k in range(heads.shape[0]):
            word = np.uint64(heads[k, i])
            a = _scatter((a ^ word) + np.uint64(0x9E3779B97F4A7C15))
            b = _scatter((b ^ word) + np.uint64(0xC2B2AE3D27D4EB4F))
        for part in range(counts.shape[1]):
            word = np.uint64(counts[i, part])
            a = _scatter((a ^ word) + np.uint64(0x9E3779B97F4A7C15))
            b = _scatter((b ^ word) + np.uint64(0xC2B2AE3D27D4EB4F))
            for _ in range(counts[i, part]):
                word = np.uint64(seqs[at])
                a = _scatter((a ^ word) + np.uint64(0x9E3779B97F4A7C15))
                b = _scatter((b ^ word) + np.uint64(0xC2B2AE3D27D4EB4F))
                at += 1
        out[i, 0], out[i, 1] = a, b


@kernel(int64(_BYTES, int64, int64, uint8[::1], int64))
def _copy(text, begin, end, out, at):  # type: ignore[no-untyped-def]
    copy_bytes(out, at, text, begin, end - begin)
    return at + end - begin


@kernel(void(uint64[:, ::1], _BYTES, uint8[:, ::1]))
def hexadecimal(ids, digits, out):  # type: ignore[no-untyped-def]
    """out [n, 32]: the hashes as hex digits, the most significant first."""
    for i in range(ids.shape[0]):
        for half in range(2):
            for digit in range(16):
                nibble = (ids[i, half] >> np.uint64(60 - 4 * digit)) & np.uint64(15)
                out[i, half * 16 + digit] = digits[nibble]


@kernel(
    void(
        uint8[:, ::1], _BYTES, int64[::1], _BYTES, int64[::1], int64[:, ::1], int64[::1], uint8[::1],
        _BYTES, int64[::1], _BYTES, int64[::1], uint8[::1], int64[::1],
    )
)  # fmt: skip
def assemble(  # type: ignore[no-untyped-def]
    ids, frame, frame_at, heads, head_ends, counts, places, closures, events, event_ends, tails, tail_ends, out, ends
):
    """Write the results. Of result i, in turn: frame piece 0, id, head i, events by component, tail i.

    frame: piece 0 opens a result, pieces 1.. c + 1 open component c (its key and, for a closure, the bracket);
    `frame_at` [pieces + 1]. places: [events of all results] which event's text; `event_ends`, as `head_ends` and
    `tail_ends`, say where each text ends.
    """
    at, k = 0, 0
    for i in range(counts.shape[0]):
        at = _copy(frame, frame_at[0], frame_at[1], out, at)
        for digit in range(32):
            out[at + digit] = ids[i, digit]
        at += 32
        at = _copy(heads, head_ends[i - 1] if i > 0 else 0, head_ends[i], out, at)
        for part in range(counts.shape[1]):
            at = _copy(frame, frame_at[part + 1], frame_at[part + 2], out, at)
            for number in range(counts[i, part]):
                if number > 0:
                    out[at] = 44
                    at += 1
                place = places[k]
                at = _copy(events, event_ends[place - 1] if place > 0 else 0, event_ends[place], out, at)
                k += 1
            if closures[part]:
                out[at] = 93
                at += 1
            elif counts[i, part] == 0:
                out[at], out[at + 1], out[at + 2], out[at + 3] = 110, 117, 108, 108  # null
                at += 4
        at = _copy(tails, tail_ends[i - 1] if i > 0 else 0, tail_ends[i], out, at)
        ends[i] = at


def digits(ids: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """uint8 [n, 32]: hex digits of the hashes."""
    out = np.empty((len(ids), 32), np.uint8)
    hexadecimal(ids, _HEX, out)
    return out
