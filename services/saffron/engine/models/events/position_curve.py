"""eSPICE's table and thresholds: utility by kind and position in the window (papers G9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from saffron.engine.models.features.curve import Curve, curve_of
from saffron.engine.models.features.feature_counts import Half
from saffron.engine.models.features.list_sample import Lists

Floats = NDArray[np.float64]


def position_table(positions: Mapping[tuple[int, int], Sequence[int]], codes: int) -> Floats:
    """float64 [codes, bins]: contributions over occurrences, NaN where nothing occurred."""
    bins = 1 + max((place for _, place in positions), default=-1)
    table = np.full((codes, bins), np.nan)
    for (code, place), (contributions, occurrences) in positions.items():
        if 0 <= code < codes and occurrences > 0:
            table[code, place] = contributions / occurrences
    return table


def position_curve(half: Half, table: Floats, kinds: Floats, overall: float, refused: Mapping[int, int]) -> Curve:
    """The curve of a table of utilities by kind and position: its thresholds, and what they lose by these counts.

    The table may be learned from these counts or from others. `kinds` [codes], `overall`: utilities where the table has
    none. `refused`: by kind, the weight of the partial matches that its events end by a NOT, as matches are weighed.

    Only sums by position are known, not the positions of one match's events. So the events of a match are taken to fall
    independently, as often as contributions do. eSPICE does not know the positions of events that a NOT refuses by.
    They are taken to be where events of their kind are.
    """
    cells = {place: sums for place, sums in half.positions.items() if 0 <= place[0] < len(kinds)}
    number = {place: index for index, place in enumerate(sorted(cells))}
    utility = {index: _utility(place, table, kinds, overall) for place, index in number.items()}
    counts = {number[place]: occurrences for place, (_, occurrences) in cells.items()}
    single: Lists = {(number[place],): contributed for place, (contributed, _) in cells.items() if contributed}
    curve = curve_of(utility, counts, single, _abandoned(cells, number, refused))
    matches = sum(half.matches.lists().values())
    false = curve.false * sum(single.values()) / matches if matches else curve.false
    return replace(curve, lost=1.0 - (1.0 - curve.lost) ** half.matches.length, false=false)


def _abandoned(
    cells: Mapping[tuple[int, int], Sequence[int]], number: Mapping[tuple[int, int], int], refused: Mapping[int, int]
) -> Lists:
    """Partial matches that a NOT ended, as lists of the one cell of the event that did."""
    by_kind = dict.fromkeys(refused, 0)
    for (code, _), (_, occurrences) in cells.items():
        if code in by_kind:
            by_kind[code] += occurrences
    return {
        (number[code, place],): round(refused[code] * occurrences / by_kind[code])
        for (code, place), (_, occurrences) in cells.items()
        if code in by_kind and by_kind[code] > 0
    }


def _utility(place: tuple[int, int], table: Floats, kinds: Floats, overall: float) -> float:
    code, position = place
    known = (table[code, position] if position < table.shape[1] else np.nan, kinds[code], overall)
    return float(next(value for value in known if not np.isnan(value)))
