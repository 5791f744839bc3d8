"""The published model of a query's event utilities (papers G3-G6), and its look-ups.

A utility is the value of an event: the shedder drops events of low utility first. Each shedder has its own look-up:

- gspice-h: a hash table from the event's key.
- gspice-tree: a decision tree over the event's vector.
- gspice-forest: ten such trees.
- espice: a table by kind and position in the window.

The paper gives no utility for a key that was never observed. Here it is the mean over events of the same content
(kind, attributes and conditions, in any pane); else the mean over events of its kind; else the mean of all events.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saffron.engine.models.features.curve import Curve
from saffron.engine.models.features.feature_keys import content_keys
from saffron.engine.models.features.features import FeatureSpec
from saffron.engine.models.features.forest import Forest
from saffron.engine.models.features.key_table import KeyTable
from saffron.engine.models.transitions.model import Offsets
from saffron.records.envelope import Version

EVENTS = "events"
BY_KEY, BY_TREE, BY_FOREST, BY_POSITION = "gspice-h", "gspice-tree", "gspice-forest", "espice"

Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]
Vectors = NDArray[np.int16]


@dataclass(frozen=True)
class SortedMap:
    """A sorted map from keys to values: `keys` uint64 [n], ascending, and `values` float64 [n]."""

    keys: Keys
    values: Floats

    def of(self, keys: Keys) -> Floats:
        """float64: the value of each key, NaN for one that is not there."""
        if not len(self.keys):
            return np.full(len(keys), np.nan)
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[places] == keys, self.values[places], np.nan)


@dataclass(frozen=True)
class EventModel:
    """The learned utilities of one query's events (G3 to G6).

    `keys`: utility by key. `contents`: utility by `content_keys`, without the pane. `kinds` [codes]: utility by kind,
    NaN for a kind that was never seen. `overall`: mean utility of all events. `contributions`, `content_contributions`:
    contribution to matches by key and by content, relative to the mean of all events. A utility is a contribution per
    time that the drop saves.

    `tree`, `forest`: None after too few events. `positions` [codes, bins]: utility by kind and position, NaN if unseen.
    `curves`: order -> its thresholds. `matches`, `observations`: numbers of matches and events that it was learned
    from. `length`: mean number of events of these matches, 0 where it is not known. Its key in the topic is
    "QUERY/events".
    """

    query: str
    query_version: int
    version: Version
    spec: FeatureSpec
    keys: SortedMap
    contents: SortedMap
    contributions: SortedMap
    content_contributions: SortedMap
    kinds: Floats
    overall: float
    tree: Forest | None
    forest: Forest | None
    positions: Floats
    curves: Mapping[str, Curve]
    matches: float
    observations: int
    trained_through: Offsets
    length: float = 0.0

    @property
    def key(self) -> bytes:
        return f"{self.query}/{EVENTS}".encode()

    def by_key(self, keys: Keys, vectors: Vectors, table: KeyTable | None = None) -> Floats:
        """float64 [n]: utilities of gSPICE-H; `table`: the same as `keys`, hashed."""
        found = self.keys.of(keys) if table is None else table.utilities(keys)
        unseen = self._by_content(found, self.contents, vectors)
        found[unseen] = self.kinds[vectors[unseen, 0]]
        found[np.isnan(found)] = self.overall
        return found

    def contributed(self, keys: Keys, vectors: Vectors) -> Floats:
        """float64 [n]: the rate at which events are parts of matches, relative to the mean; 1 for an unknown event."""
        found = self.contributions.of(keys)
        found[self._by_content(found, self.content_contributions, vectors)] = 1.0
        return found

    def _by_content(self, found: Floats, contents: SortedMap, vectors: Vectors) -> NDArray[np.intp]:
        """Fill in values that are NaN by their contents; returns the places that are NaN still."""
        unseen = np.flatnonzero(np.isnan(found))
        if len(unseen):
            found[unseen] = contents.of(content_keys(self.spec, vectors[unseen]))
        return unseen[np.isnan(found[unseen])]

    def by_position(self, kinds: NDArray[np.integer], bins: NDArray[np.integer]) -> Floats:
        """float64 [n]: utilities of eSPICE by code of the kind and bin of the position; the last bin is open."""
        if not self.positions.shape[1]:
            return np.full(len(kinds), self.overall)
        found: Floats = self.positions[kinds, np.minimum(bins, self.positions.shape[1] - 1)]
        found = np.where(np.isnan(found), self.kinds[kinds], found)
        return np.where(np.isnan(found), self.overall, found)
