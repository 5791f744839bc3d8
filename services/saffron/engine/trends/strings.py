"""Strings as numbers: those that a query's keys and vertices hold, counted in and collected when they are gone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import orjson
from numpy.typing import NDArray

from saffron.engine.trends.layout import Floats, Ints

_SLACK = 1024


class Interner:
    """Gives every distinct string a small number that stays the same while the string is in use.

    `pinned` strings are numbered 0, 1, ... and kept for ever: the literals of the query's conditions.
    """

    def __init__(self, pinned: Sequence[str]) -> None:
        self._values: list[str | None] = list(pinned)
        self._codes: dict[str, int] = {value: code for code, value in enumerate(pinned)}
        self._free: list[int] = []
        self._pinned = len(pinned)
        self._kept = 0
        self._ranks: Floats | None = None

    def __len__(self) -> int:
        return len(self._codes)

    def codes(self, values: Sequence[str]) -> Ints:
        """[len(values) + 1] the number of each value; the last one is -1, so that index -1 (null) gives -1."""
        known = self._codes
        result = np.empty(len(values) + 1, dtype=np.int64)
        result[-1] = -1
        for index, value in enumerate(values):
            code = known.get(value)
            result[index] = self._add(value) if code is None else code
        return result

    def value(self, code: int) -> str:
        """The string of a number that is in use."""
        value = self._values[code]
        assert value is not None
        return value

    def ranks(self) -> Floats:
        """[numbers] where each string stands in the order of strings (by code point)."""
        if self._ranks is None:
            order = sorted(self._codes)
            self._ranks = np.zeros(len(self._values), dtype=np.float64)
            self._ranks[[self._codes[value] for value in order]] = np.arange(len(order), dtype=np.float64)
        return self._ranks

    def is_due(self) -> bool:
        """Whether enough strings came since the last collection to be worth another one."""
        return len(self._codes) > 2 * self._kept + _SLACK

    def collect(self, used: Ints) -> None:
        """Forget every string but the pinned ones and those numbered in `used` (negative numbers are ignored)."""
        keep = np.zeros(len(self._values), dtype=np.bool_)
        keep[: self._pinned] = True
        keep[used[used >= 0]] = True
        for code in np.flatnonzero(~keep).tolist():
            value = self._values[code]
            if value is not None:
                del self._codes[value]
                self._values[code] = None
        while self._values and self._values[-1] is None:
            self._values.pop()
        self._free = [code for code, value in enumerate(self._values) if value is None]
        self._kept = len(self._codes)
        self._ranks = None

    def snapshot(self) -> NDArray[np.uint8]:
        """The strings by number, as JSON."""
        return np.frombuffer(orjson.dumps([self._values, self._kept, self._free]), dtype=np.uint8).copy()

    def restore(self, state: NDArray[np.generic]) -> None:
        """Take over what `snapshot` gave."""
        self._values, self._kept, self._free = orjson.loads(state.tobytes())
        self._codes = {value: code for code, value in enumerate(self._values) if value is not None}
        self._ranks = None

    def _add(self, value: str) -> int:
        self._ranks = None
        if self._free:
            code = self._free.pop()
            self._values[code] = value
        else:
            code = len(self._values)
            self._values.append(value)
        self._codes[value] = code
        return code
