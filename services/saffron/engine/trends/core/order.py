"""Float64 codes for numbers that float64 does not tell apart, in the same order: for extremes and trees (T6, T9).

The loops over extremes and over ordered trees work on float64 alone. A code gives the place of a number among those
that the query has had so far. Where a new number falls between two adjacent codes, all codes are assigned anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Pairs = NDArray[np.complex128]
Floats = NDArray[np.float64]
Recode = Callable[[Floats], Floats]

_STEP = 2.0**20
_FARTHEST = 2.0**52


@dataclass
class Order:
    """The codes of exact numbers: comparing codes compares the numbers.

    `numbers`: pairs (`schema.numbers`), ascending. `codes`: float64, ascending, one for each number, none of them 0.
    """

    numbers: Pairs
    codes: Floats

    @classmethod
    def empty(cls) -> Order:
        return cls(np.empty(0, np.complex128), np.empty(0))

    def enter(self, pairs: Pairs) -> Recode | None:
        """Take note of these numbers, NaN of none; how codes have changed, if they have."""
        pairs = np.unique(pairs[~np.isnan(pairs.real)] + 0.0)
        at = np.searchsorted(self.numbers, pairs)
        known = np.zeros(len(pairs), np.bool_)
        inside = at < len(self.numbers)
        known[inside] = self.numbers[at[inside]] == pairs[inside]
        if known.all():
            return None
        before = self.codes
        new, at = pairs[~known], at[~known]
        self.numbers = np.insert(self.numbers, at, new)
        self.codes = np.insert(before, at, _between(before, at))
        if self.codes[0] > 0.0 and (np.diff(self.codes) > 0.0).all() and np.abs(self.codes).max() < _FARTHEST:
            return None
        kept = np.delete(np.arange(len(self.numbers)), at + np.arange(len(at)))
        self.codes = _STEP * np.arange(1.0, len(self.numbers) + 1.0)
        return _recode(before, self.codes[kept])

    def codes_of(self, pairs: Pairs) -> Floats:
        """[n] the codes of these numbers, which must have been entered; NaN of NaN."""
        found = np.full(len(pairs), np.nan)
        here = ~np.isnan(pairs.real)
        found[here] = self.codes[np.searchsorted(self.numbers, pairs[here] + 0.0)]
        return found

    def pairs_of(self, codes: Floats) -> Pairs:
        """[n] the numbers of these codes, those of codes with the sign changed with theirs changed; infinity stays."""
        found = codes.astype(np.complex128)
        here = np.isfinite(codes) & (len(self.codes) > 0)
        if here.any():
            sign = np.sign(codes[here])
            pairs = self.numbers[np.searchsorted(self.codes, np.abs(codes[here]))]
            found.real[here], found.imag[here] = sign * pairs.real, sign * pairs.imag
        return found

    def saved(self, name: str) -> dict[str, NDArray[np.generic]]:
        """Its arrays, for snapshots."""
        return {f"{name}.numbers": self.numbers.view(np.float64).copy(), f"{name}.codes": self.codes.copy()}

    @classmethod
    def restored(cls, arrays: Mapping[str, NDArray[Any]], name: str) -> Order:
        """The order from which `saved` was made."""
        numbers = np.array(arrays[f"{name}.numbers"], np.float64).view(np.complex128)
        return cls(numbers, np.array(arrays[f"{name}.codes"], np.float64))

    def keep(self, used: Floats) -> None:
        """Forget all numbers but those with these codes, or with these and the sign changed."""
        chosen = np.isin(self.codes, np.abs(used))
        self.numbers, self.codes = self.numbers[chosen], self.codes[chosen]


def _between(codes: Floats, at: NDArray[np.intp]) -> Floats:
    """A code for each new number that is to stand before place `at` of the codes, evenly apart; all are above 0."""
    if not len(codes):
        return _STEP * np.arange(1.0, len(at) + 1.0)
    bounds = np.concatenate(([0.0], codes, [0.0]))
    places, first, count = np.unique(at, return_index=True, return_counts=True)
    room = np.where(places == len(codes), _STEP * (count + 1), bounds[places + 1] - bounds[places])
    which = np.repeat(np.arange(len(places)), count)
    number = np.arange(len(at)) - first[which] + 1.0
    codes_there: Floats = bounds[places][which] + np.floor(room[which] * number / (count[which] + 1.0))
    return codes_there


def _recode(before: Floats, after: Floats) -> Recode:
    """A function that replaces codes `before` in an array by those of the same places in `after`.

    A code keeps its sign. A value that is no code, such as NaN or infinity, stays.
    """

    def recode(codes: Floats) -> Floats:
        at = np.minimum(np.searchsorted(before, np.abs(codes)), max(len(before) - 1, 0))
        found = codes.copy()
        if len(before):
            here = before[at] == np.abs(codes)
            found[here] = np.sign(codes[here]) * after[at[here]]
        return found

    return recode
