"""The rate at which an event is followed by one that can replace it: of its type and key, within a window.

Without such an event, a match that loses an event is missed, and no false match takes its place. Only some keys are
tracked, to save time; a query without a key has one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.columns import Column, Columns
from saffron.engine.kernels.hashing import mixed
from saffron.language.plan.match_plan import MatchPlan

Words = NDArray[np.uint64]

_ONE_IN = 8
_MOST_HELD = 8_192
"""Types and keys that are held before any is forgotten."""
_MOST_SEEN = 4_096.0
"""The number of events from which on older events count half."""
_GRAIN = 8


@dataclass
class Repeats:
    """The share of one query's events that come again within a window, by a sample of keys.

    `_last`: by type and key, the position or time of the last event. Beyond `_most` entries, those outside all windows
    are dropped. `_seen`, `_again`: number of events, and of those that came again within a window.
    """

    plan: MatchPlan
    _last: dict[int, int] = field(default_factory=dict)
    _most: int = _MOST_HELD
    _seen: float = 0.0
    _again: float = 0.0

    @property
    def share(self) -> float:
        """The share of events that come again within a window, in steps of 1/8; 1 without a key or events."""
        return round(_GRAIN * (self._again + 1) / (self._seen + 1)) / _GRAIN if self.plan.key else 1.0

    def saw(self, columns: Columns, fits: NDArray[np.bool_]) -> None:
        """Count events in order. `fits`: which of them the query can take."""
        names = self.plan.key
        if not names or not all(name in columns.attributes for name in names):
            return
        words = _words(columns.type)
        for name in names:
            words = mixed(words ^ _words(columns.attributes[name]))
        chosen = np.flatnonzero(fits & (words % np.uint64(_ONE_IN) == 0))
        window, places = self.plan.window.size, columns.seq if self.plan.window.events else columns.ts
        for word, place in zip(words[chosen].tolist(), places[chosen].tolist(), strict=True):
            last = self._last.get(word)
            self._seen += 1
            self._again += last is not None and place - last <= window
            self._last[word] = place
        if len(self._last) > self._most:
            newest = max(self._last.values())
            self._last = {word: place for word, place in self._last.items() if newest - place <= window}
            self._most = max(_MOST_HELD, 2 * len(self._last))
        if self._seen > _MOST_SEEN:
            self._seen, self._again = self._seen / 2, self._again / 2


def _words(column: Column) -> Words:
    """uint64 [n]: hashes of values, equal for equal values."""
    if column.kind.has_texts:
        table = np.array([*(crc32(value.encode("utf-8", "surrogatepass")) for value in column.values), 0], np.uint64)
        return mixed(table[column.data])
    return mixed(column.data.real.astype(np.float64).view(np.uint64))
