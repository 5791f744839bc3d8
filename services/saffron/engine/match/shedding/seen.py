"""Features of the events of a query's matches (papers G2), counted in watched blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.hashing import hashes_of, mixed
from saffron.engine.match.core.rows import LINKS, SEQ, TS, Rows
from saffron.engine.match.core.stream import Range
from saffron.engine.match.output.render import Written
from saffron.engine.match.runs.feature_keys import KEY
from saffron.engine.match.shedding.positions import BINS, position_bins
from saffron.language.plan.clauses import Window

Ints = NDArray[np.int64]
Keys = NDArray[np.uint64]
Vectors = Mapping[int, tuple[int, ...]]

MOST_LISTED = 256
"""The most matches listed in one row, each with its weight."""

_MOST_BLOCKS = 4096  # without a call of `row`: then the counts are not read
_ALL = 1 << 64


class Seen:
    """One query's counts since the last row. `window`: its window. `clean`: from this instant on nothing was dropped.

    Events and matches are left out that lie within a window behind anything dropped for the query. Nobody knows what
    the dropped would have made of them.
    """

    def __init__(self, window: Window, clean: int = -(2**62)) -> None:
        self._window = window
        self._clean = clean
        self._told: set[int] = set()
        self._clear()

    def _clear(self) -> None:
        self._keys: list[Keys] = []
        self._refusing: list[Ints] = []
        self._last: tuple[int, int] | None = None  # first and last position of events that rows are about to hold
        self._met = 0
        self._bins: list[Ints] = []
        self._matches: list[tuple[int, Ints, Ints, int]] = []  # chosen by, keys and bins of its events, the first one
        self._chosen_below = _ALL

    @property
    def waits(self) -> bool:
        """True if events have come that the query had not stored."""
        return self._last is not None

    def dropped(self, instant: int) -> None:
        """Record that an event or a partial match was dropped for the query at this instant."""
        self._clean = max(self._clean, instant + self._window.size + 1)

    def tell_again(self) -> None:
        """Forget which vectors were reported: they may be needed again."""
        self._told.clear()

    # ---------------------------------------------------------------- events and matches

    def events(self, part: Range, alive: int) -> None:
        """Count events. None of them is masked for the query, if they come after the instant of `dropped`.

        `alive`: the query's partial matches before the first of them.
        """
        keys = part.columns.key
        if keys is None:
            return
        instants = part.seq if self._window.events else part.ts
        if len(self._keys) == _MOST_BLOCKS:
            self._clear()
        begin = int(np.searchsorted(instants, self._clean))
        if begin < len(instants):
            self._keys.append(keys[part.low + begin : part.high])
            self._met += alive * (len(instants) - begin)
            self._last = int(part.seq[begin]), int(part.seq[-1])
            self._bins.append(position_bins(self._window, instants[begin:]))

    def stored(self, rows: Rows, negated: int) -> None:
        """Take the stored rows of the events that came last. `negated`: bits of components under a NOT.

        Rows that were given up since are still there, unless the block had many windows.
        """
        last, self._last = self._last, None
        if last is None or KEY not in rows.columns or LINKS[0] not in rows.columns:
            return
        seq, fits = (rows.columns[name].astype(np.int64) for name in (SEQ, LINKS[0]))
        refusing = (seq >= last[0]) & (seq <= last[1]) & (fits & negated != 0)
        self._refusing.append(rows.columns[KEY][refusing].astype(np.int64))

    def matches(self, found: Written) -> None:
        """Count the features of these matches, which the query reports."""
        rows = found.stored
        if KEY not in rows.columns or not len(found):
            return
        order = mixed(hashes_of(np.stack([found.position, np.arange(len(found))])))
        chosen = self._choose(order)
        counts, places = found.events_of(chosen)
        instants = rows.columns[SEQ if self._window.events else TS][places].astype(np.int64)
        keys, bins = rows.columns[KEY][places].astype(np.int64), position_bins(self._window, instants)
        ends, seq = np.cumsum(counts), rows.columns[SEQ][places].astype(np.int64)
        for index, begin, end in zip(chosen.tolist(), (ends - counts).tolist(), ends.tolist(), strict=True):
            if end > begin and instants[begin:end].min() >= self._clean and keys[begin:end].all():
                first = int(seq[begin:end].argmin())
                self._matches.append((int(order[index]), keys[begin:end], bins[begin:end], first))

    def _choose(self, order: Keys) -> Ints:
        """Indices of the matches to list, by their hashes `order`. The limit of hashes falls until the list fits."""
        while True:
            chosen = np.flatnonzero(order < np.uint64(min(self._chosen_below, _ALL - 1)))
            if len(chosen) + len(self._matches) <= MOST_LISTED:
                return chosen
            self._chosen_below //= 2
            self._matches = [one for one in self._matches if one[0] < self._chosen_below]

    # ---------------------------------------------------------------- reports

    def row(self, vectors: Vectors) -> dict[str, Any] | None:
        """The counts since the last row, as fields of `observations.features`; None: there are none.

        `vectors`: those known, by key.
        """
        if not self._keys:
            return None
        occurred = np.unique(np.concatenate(self._keys))
        weight = _ALL / self._chosen_below
        found: dict[str, Any] = {
            "occurrences": _counted(self._keys),
            "met": self._met,
            "begun": self._begun(weight),
            "refusing": _counted(self._refusing),
            "matches": [keys.view(np.uint64).tolist() for _, keys, _, _ in self._matches],
            "weight": weight,
            "positions": self._positions(vectors, weight),
            "features": self._news(vectors, occurred),
        }
        self._clear()
        return found

    def _begun(self, weight: float) -> dict[int, int]:
        """Key to the matches that an event with it was the first of."""
        found: dict[int, float] = {}
        for _, keys, _, first in self._matches:
            key = int(keys[first].view(np.uint64))
            found[key] = found.get(key, 0.0) + weight
        return {key: round(count) for key, count in sorted(found.items())}

    def _news(self, vectors: Vectors, occurred: Keys) -> dict[int, list[int]]:
        """The vectors of keys that were not reported yet."""
        new = {key: list(vectors[key]) for key in occurred.tolist() if key not in self._told and key in vectors}
        self._told.update(new)
        return new

    def _positions(self, vectors: Vectors, weight: float) -> list[list[int]]:
        """[code of a kind, bin, contributions, occurrences], of the events whose kind is known."""
        places: dict[tuple[int, int], list[float]] = {}
        cells = [(np.concatenate(self._keys), np.concatenate(self._bins), 1, 1.0)]
        cells += [(keys.view(np.uint64), bins, 0, weight) for _, keys, bins, _ in self._matches]
        for keys, bins, column, worth in cells:
            distinct, which = np.unique(keys, return_inverse=True)
            codes = np.array([vectors[key][0] if key in vectors else -1 for key in distinct.tolist()], np.int64)[which]
            known = codes >= 0
            cell, count = np.unique(codes[known] * BINS + bins[known], return_counts=True)
            for place, number in zip(cell.tolist(), count.tolist(), strict=True):
                places.setdefault(divmod(place, BINS), [0.0, 0.0])[column] += worth * number
        return [[*place, round(sums[0]), round(sums[1])] for place, sums in sorted(places.items())]


def _counted(parts: Sequence[NDArray[np.uint64 | np.int64]]) -> dict[int, int]:
    """Key to how often it is among these."""
    keys = np.concatenate([np.zeros(0, np.uint64), *(part.view(np.uint64) for part in parts)])
    distinct, counts = np.unique(keys, return_counts=True)
    return dict(zip(distinct.tolist(), counts.tolist(), strict=True))
