"""Strings as codes across blocks: one table for all columns of an operator; codes that nothing holds are freed."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.columns import Column
from saffron.engine.events.schema import NULL_CODE

_SLACK = 4096  # codes that may lie dead before a collection is worth its pass over the stored rows


class Strings:
    """Interned strings: equal strings have equal codes, whatever column or block they came in."""

    def __init__(self, values: Iterable[str | None] = ()) -> None:
        self._values = list(values)
        self._codes = {value: code for code, value in enumerate(self._values) if value is not None}
        self._free = [code for code, value in enumerate(self._values) if value is None]
        self._live = len(self._codes)
        self._pins: dict[str, int] = {}
        self._maps: dict[str, tuple[tuple[str, ...], NDArray[np.int32]]] = {}
        self._ranks: NDArray[np.int64] | None = None

    @property
    def values(self) -> list[str | None]:
        """code -> string; None where the code is free."""
        return self._values

    def code(self, value: str) -> int:
        """The code of a string, given one if it has none."""
        code = self._codes.get(value)
        if code is None:
            if self._free:
                code = self._free.pop()
                self._values[code] = value
            else:
                code = len(self._values)
                self._values.append(value)
            self._codes[value] = code
            self._ranks = None
        return code

    def pin(self, value: str) -> int:
        """The code of a string that a query's text holds on to: never freed before `unpin`."""
        self._pins[value] = self._pins.get(value, 0) + 1
        return self.code(value)

    def unpin(self, value: str) -> None:
        self._pins[value] -= 1
        if not self._pins[value]:
            del self._pins[value]

    def mapping(self, name: str, column: Column) -> NDArray[np.int32]:
        """int32 [distinct + 1]: the column's own code -> ours; the last entry serves code -1, null."""
        known = self._maps.get(name)
        if known is not None and (known[0] is column.values or known[0] == column.values):
            return known[1]
        codes = np.fromiter(
            (*(self.code(value) for value in column.values), NULL_CODE), np.int32, len(column.values) + 1
        )
        self._maps[name] = (column.values, codes)
        return codes

    def ranks(self) -> NDArray[np.int64]:
        """int64 [codes + 1]: place of each string in the order of its bytes; the last entry serves null."""
        if self._ranks is None or len(self._ranks) != len(self._values) + 1:
            # UTF-8 keeps the order of code points, so Python's order of strings is that of their bytes.
            order = sorted(self._codes.items())
            self._ranks = np.full(len(self._values) + 1, -1, np.int64)
            for place, (_, code) in enumerate(order):
                self._ranks[code] = place
        return self._ranks

    @property
    def wants_collection(self) -> bool:
        return len(self._codes) > 2 * self._live + _SLACK

    def collect(self, used: Iterable[NDArray[np.int32]]) -> None:
        """Free every code that is neither pinned nor in one of these arrays (-1 is passed over)."""
        alive = np.zeros(len(self._values) + 1, np.bool_)
        for codes in used:
            alive[codes] = True
        for value in self._pins:
            alive[self._codes[value]] = True
        for code in np.flatnonzero(~alive[:-1]).tolist():
            freed = self._values[code]
            if freed is not None:
                del self._codes[freed]
                self._values[code] = None
                self._free.append(code)
        self._live = len(self._codes)
        self._maps.clear()
        self._ranks = None
