"""Strings as codes across blocks: one table for all columns of its owner; codes that nothing holds are freed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
import orjson
from numpy.typing import NDArray

from saffron.engine.events.columns import Column
from saffron.schema.schema import NULL_CODE


class Strings:
    """Interned strings: equal strings have equal codes, whatever column or block they came in.

    `values`: code -> string, None where the code is free. `live`, `free`: as `saved` gives them, else found out.
    `slack`: codes that may lie dead before a collection is worth its pass over the stored rows.
    """

    def __init__(
        self,
        values: Iterable[str | None] = (),
        live: int | None = None,
        free: list[int] | None = None,
        *,
        slack: int = 4096,
    ) -> None:
        self._slack = slack
        self.values = list(values)
        self._codes = {value: code for code, value in enumerate(self.values) if value is not None}
        self._live = len(self._codes) if live is None else live
        self._free = self._unused() if free is None else free
        self._pins: dict[str, int] = {}
        self._maps: dict[str, tuple[tuple[str, ...], NDArray[np.int32]]] = {}
        self._ranks: NDArray[np.int64] | None = None

    def saved(self) -> NDArray[np.uint8]:
        """The arguments to restore this table, as JSON; pins are renewed by their holders."""
        return np.frombuffer(orjson.dumps([self.values, self._live, self._free]), np.uint8).copy()

    def value(self, code: int) -> str:
        """The string of a code that is in use."""
        value = self.values[code]
        assert value is not None
        return value

    def code(self, value: str) -> int:
        """The code of a string, given one if it has none."""
        code = self._codes.get(value)
        if code is None:
            if self._free:
                code = self._free.pop()
                self.values[code] = value
            else:
                code = len(self.values)
                self.values.append(value)
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
        given = self._codes.get
        numbers = [self.code(value) if (code := given(value)) is None else code for value in column.values]
        codes = np.array([*numbers, NULL_CODE], np.int32)
        self._maps[name] = (column.values, codes)
        return codes

    def ranks(self) -> NDArray[np.int64]:
        """int64 [codes + 1]: place of each string in the order of its bytes; the last entry serves null."""
        if self._ranks is None or len(self._ranks) != len(self.values) + 1:
            # UTF-8 keeps the order of code points, so Python's order of strings is that of their bytes.
            order = [self._codes[value] for value in sorted(self._codes)]
            self._ranks = np.full(len(self.values) + 1, -1, np.int64)
            self._ranks[order] = np.arange(len(order))
        return self._ranks

    @property
    def wants_collection(self) -> bool:
        return len(self._codes) > 2 * self._live + self._slack

    def collect(self, used: Iterable[NDArray[np.integer]], *, shrink: bool = False) -> None:
        """Free every code that is neither pinned nor in one of these arrays (-1 is passed over).

        The codes of the last columns stay too: the next block may well have the same dictionary, and would intern all
        of it again.
        `shrink`: forget the free codes behind the last one in use, which no dead row may be asked for any more.
        """
        alive = np.zeros(len(self.values) + 1, np.bool_)
        for codes in used:
            alive[codes] = True
        for _, codes in self._maps.values():
            alive[codes] = True
        for value in self._pins:
            alive[self._codes[value]] = True
        for code in np.flatnonzero(~alive[:-1]).tolist():
            freed = self.values[code]
            if freed is not None:
                del self._codes[freed]
                self.values[code] = None
        while shrink and self.values and self.values[-1] is None:
            self.values.pop()
        self._free = self._unused()
        self._live = len(self._codes)
        self._ranks = None

    def _unused(self) -> list[int]:
        return [code for code, value in enumerate(self.values) if value is None]


class Pinned:
    """Constants of a query's kernels, whose strings keep their codes until `release`.

    `codes`: of each list, int64 [n] as kernels read it: codes of strings; integers; bits of floats.
    """

    def __init__(self, strings: Strings, *constants: Sequence[str | int | float]) -> None:
        self._strings = strings
        self._constants = constants
        self.codes = [np.array([self._coded(value) for value in one], np.int64) for one in constants]

    def release(self) -> None:
        """Unpin the strings: no kernel reads their codes any more."""
        for value in chain.from_iterable(self._constants):
            if isinstance(value, str):
                self._strings.unpin(value)

    def _coded(self, value: str | float) -> int:
        if isinstance(value, float):
            return int(np.float64(value).view(np.int64))
        return self._strings.pin(value) if isinstance(value, str) else value
