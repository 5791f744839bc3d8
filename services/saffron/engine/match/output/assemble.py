"""The kernel that writes results: their text from the texts of their events."""

from __future__ import annotations

from saffron.engine.kernels.jit import kernel
from saffron.engine.kernels.memory import copy_bytes
from saffron.engine.kernels.numba_types import int64, types, uint8, void

_BYTES = types.Array(uint8, 1, "C", readonly=True)


@kernel(int64(_BYTES, int64, int64, uint8[::1], int64))
def _copy(text, begin, end, out, at):  # type: ignore[no-untyped-def]
    copy_bytes(out, at, text, begin, end - begin)
    return at + end - begin


@kernel(
    void(
        uint8[:, ::1], _BYTES, int64[::1], _BYTES, int64[::1], int64[:, ::1], int64[::1], uint8[::1],
        _BYTES, int64[::1], _BYTES, int64[::1], uint8[::1], int64[::1],
    )
)  # fmt: skip
def assemble(  # type: ignore[no-untyped-def]
    ids, frame, frame_at, heads, head_ends, counts, places, closures, events, event_ends, tails, tail_ends, out, ends
):
    """Write the results: for each, frame piece 0, id, head, events by component, tail.

    `frame`: piece 0 opens a result, piece c + 1 opens component c (its key and, for a closure, the bracket); `frame_at`
    [pieces + 1]. `places`: the text of each event of all results. `event_ends`, `head_ends`, `tail_ends`: the ends of
    texts.
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
