"""The arrays of one state's runs (see `runs`), grown between calls of the step kernel."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.jit import kernel
from saffron.engine.kernels.numba_types import int64, void
from saffron.engine.match.core.automaton import State
from saffron.engine.match.core.merged import FOLLOWER_COLUMNS, FOLLOWER_ROWS, ROWS
from saffron.engine.match.core.runs import (
    BASE,
    BEGIN,
    CLASSES,
    DEADLINE,
    FIRST_FEATURE,
    HORIZON,
    LANES,
    LENGTH,
    OLDEST,
    STALE,
    TOP,
    WANTED,
    give_back,
)

Array = NDArray[np.generic]
_LINE = 64
_PAGE_LANES = 4096 // 8
_NAMES = ("floats", "ints", "heads", "segments", "spare")


class Pool:
    """The runs of one state: lanes, and each key's segment of them.

    `floats`, `ints`: how many rows of each kind a run has besides its deadline and start. `columns`: of a segment.
    """

    def __init__(self, floats: int, ints: int, columns: int = HORIZON + 1) -> None:
        self.floats = aligned((floats, 16), np.float64)
        self.ints = aligned((ints + FIRST_FEATURE, 16), np.int64)
        self.heads = aligned((16,), np.uint32)
        self.segments = np.zeros((8, columns), np.int64)
        self.spare = np.zeros(CLASSES, np.int64)

    @property
    def arrays(self) -> tuple[Array, ...]:
        """The arrays in the order in which step kernels take them."""
        return self.floats, self.ints, self.heads, self.segments, self.spare

    @property
    def size(self) -> int:
        return sum(array.nbytes for array in self.arrays)

    @property
    def held(self) -> int:
        """Runs in lanes, some of which may have expired since their key was last met."""
        return int((self.segments[:, LENGTH] - self.segments[:, STALE]).sum())

    def live(self, now: int) -> int:
        """Runs whose window is not over at `now`."""
        return int(_live(self.ints, self.segments, now))

    def grow(self) -> None:
        """Add lanes: as many as the last failed reservation wanted, and at least twice as many as before."""
        self._resize(len(self.heads) + max(int(self.spare[WANTED]), len(self.heads)))

    def _resize(self, size: int) -> None:
        size = -(-size // LANES) * LANES
        # Rows a multiple of 4 KiB apart would look like one address to the processor's store buffer.
        size += LANES if size % _PAGE_LANES == 0 else 0
        for name in ("floats", "ints", "heads"):
            old = getattr(self, name)
            new = aligned((*old.shape[:-1], size), old.dtype)
            new[..., : old.shape[-1]] = old
            setattr(self, name, new)

    def put(self, floats: Array, ints: Array) -> None:
        """Other rows for the same lanes."""
        for name, rows in (("floats", floats), ("ints", ints)):
            own = aligned(rows.shape, getattr(self, name).dtype)
            own[:] = rows
            setattr(self, name, own)

    def lanes(self) -> NDArray[np.int64]:
        """The lanes of all segments, key by key."""
        lengths = self.segments[:, LENGTH]
        begins = np.repeat(self.segments[:, BASE] + self.segments[:, BEGIN] - (np.cumsum(lengths) - lengths), lengths)
        lanes: NDArray[np.int64] = begins + np.arange(int(lengths.sum()))
        return lanes

    def alive(self, now: int) -> NDArray[np.int64]:
        """The lanes of runs whose window is not over at `now`, key by key."""
        lanes = self.lanes()
        found: NDArray[np.int64] = lanes[self.ints[DEADLINE, lanes] >= now]
        return found

    def widen(self, slots: int) -> None:
        """Add segments up to this number of keys."""
        if slots > len(self.segments):
            self.segments = np.ascontiguousarray(np.pad(self.segments, ((0, slots - len(self.segments)), (0, 0))))

    def release(self, slots: NDArray[np.int64]) -> int:
        """Give back the segments of keys that are forgotten; how many runs they still held."""
        runs = int((self.segments[slots, LENGTH] - self.segments[slots, STALE]).sum())
        _release(self.ints, self.segments, self.spare, slots)
        return runs

    def saved(self) -> dict[str, Array]:
        top = int(self.spare[TOP])
        return {
            "floats": self.floats[:, :top].copy(),
            "ints": self.ints[:, :top].copy(),
            "heads": self.heads[:top].copy(),
            "segments": self.segments.copy(),
            "spare": self.spare.copy(),
        }

    def restore(self, arrays: Mapping[str, Array]) -> None:
        for name in _NAMES:
            own = getattr(self, name)
            setattr(self, name, np.array(arrays[name], own.dtype, order="C"))
        self._resize(len(self.heads) + LANES)


def pools(states: Sequence[State], merging: int | None) -> list[Pool]:
    """The pools of a plan: one for each state, and one for the followers of state `merging` (N7)."""
    rows = [len(state.ints) + (ROWS if index == merging else 0) for index, state in enumerate(states)]
    made = [Pool(len(state.floats), ints) for state, ints in zip(states, rows, strict=True)]
    return made if merging is None else [*made, Pool(0, FOLLOWER_ROWS, FOLLOWER_COLUMNS)]


def aligned(shape: tuple[int, ...], dtype: np.dtype[Any] | type[np.generic]) -> Any:
    """Zeros that begin on a cache line: eight lanes then never cross one, if the last dimension is a multiple of 8."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    raw = np.zeros(size + _LINE, np.uint8)
    begin = -raw.ctypes.data % _LINE
    return raw[begin : begin + size].view(dtype).reshape(shape)


@kernel(int64(int64[:, ::1], int64[:, ::1], int64))
def _live(ints, segments, now):  # type: ignore[no-untyped-def]
    """The number of live runs. Only keys with possibly expired runs are scanned: stale lanes come before OLDEST."""
    count = 0
    for slot in range(len(segments)):
        length = segments[slot, LENGTH]
        if length == 0 or segments[slot, OLDEST] >= now:
            count += length - segments[slot, STALE]
            continue
        base = segments[slot, BASE] + segments[slot, BEGIN]
        for lane in range(base, base + length):
            count += 1 if ints[DEADLINE, lane] >= now else 0
    return count


@kernel(void(int64[:, ::1], int64[:, ::1], int64[::1], int64[::1]))
def _release(ints, segments, spare, slots):  # type: ignore[no-untyped-def]
    for slot in slots:
        give_back(ints, segments, spare, slot)
        for column in range(segments.shape[1]):
            segments[slot, column] = 0
