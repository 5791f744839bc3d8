"""Curves of shedding (papers G6): for a share of events to drop, the threshold of utility, and the matches lost.

Events are dropped by ascending utility. A *level* holds the events of one utility, or of neighbouring utilities that
few events have. Of the level at the threshold, a seeded draw drops the part that is still missing. So any share of
events can be reached, not only the shares at which a utility ends.

A match is lost when any of its events is dropped. A false match is found when the event that refused a partial match is
dropped, and no event of the partial match is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saffron.engine.models.features.list_sample import Lists

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

STEPS = 256
"""A level has no more than this part of all events, unless one utility has."""


@dataclass(frozen=True)
class Cut:
    """Drop every event of a utility below `lower`, and of those up to `upper` the share `ties`.

    `share`: of events that this drops. `lost`: share of matches lost. `false`: expected matches too many (patterns with
    negation) for each true one, at most.
    """

    lower: float
    upper: float
    ties: float
    share: float
    lost: float
    false: float


@dataclass(frozen=True)
class Curve:
    """Levels [k] of utilities, ascending; points [p] along them, the first at which nothing is dropped.

    `lower`, `upper` [k]: utilities of a level. `end` [k]: share of events up to its end. `share`, `lost`, `false`
    [p], all rising, see `Cut`.
    """

    lower: Floats
    upper: Floats
    end: Floats
    share: Floats
    lost: Floats
    false: Floats

    def at(self, share: float) -> Cut:
        """The cut that drops this share of events; its loss is linear between points."""
        share = min(max(share, 0.0), 1.0)
        lost, false = (float(np.interp(share, self.share, values)) for values in (self.lost, self.false))
        if not len(self.end) or share <= 0:
            return Cut(-np.inf, -np.inf, 0.0, 0.0, 0.0, 0.0)
        level = min(int(np.searchsorted(self.end, share)), len(self.end) - 1)
        begin = float(self.end[level - 1]) if level else 0.0
        ties = (share - begin) / (float(self.end[level]) - begin)
        return Cut(float(self.lower[level]), float(self.upper[level]), min(1.0, ties), share, lost, false)


def curve_of(utility: Mapping[int, float], counts: Mapping[int, int], matches: Lists, abandoned: Lists) -> Curve:
    """The curve of events with these utilities and counts by key; every key has a utility, a count or not."""
    keys = sorted(counts, key=lambda key: (utility[key], key))
    sizes = np.array([counts[key] for key in keys], dtype=np.float64)
    values = np.array([utility[key] for key in keys])
    lower, upper, end = levels_of(values, sizes)
    places = np.searchsorted(upper, np.array(list(utility.values()))).tolist()
    level = dict(zip(utility, places, strict=True))
    begin = np.concatenate([[0.0], end[:-1]])
    steps = [max(1, round(STEPS * part)) for part in (end - begin).tolist()]
    at = np.concatenate([[0], np.repeat(np.arange(len(end)), steps)]).astype(np.int64)
    ties = np.concatenate([[0.0], *(np.arange(1, count + 1) / count for count in steps)])
    share = begin[at] + ties * (end - begin)[at] if len(end) else np.zeros(1)
    lost = lost_at(at, ties, level, matches)
    false = false_at(at, ties, level, abandoned, sum(matches.values()))
    return Curve(lower, upper, end, share, lost, false)


def levels_of(values: Floats, sizes: Floats) -> tuple[Floats, Floats, Floats]:
    """(lower, upper, end) of the levels of ascending `values`; `sizes`: the events of each value."""
    if not len(values):
        return np.empty(0), np.empty(0), np.empty(0)
    distinct, first = np.unique(values, return_index=True)
    parts = np.add.reduceat(sizes, first) / sizes.sum()
    starts = [0]
    held = parts[0]
    for index in range(1, len(distinct)):
        if held + parts[index] > 1 / STEPS:
            starts.append(index)
            held = 0.0
        held += parts[index]
    end = np.cumsum(np.add.reduceat(parts, starts))
    end[-1] = 1.0
    stops = np.array([*starts[1:], len(distinct)]) - 1
    return distinct[starts], distinct[stops], end


def lost_at(at: Ints, ties: Floats, level: Mapping[int, int], matches: Lists) -> Floats:
    """Share of matches lost where all levels below at[p] are dropped and of that one the share ties[p]."""
    total = sum(matches.values())
    if not total:
        return np.zeros(len(at))
    lost = np.zeros(len(at))
    for (lowest, count), weight in _lowest(matches, level).items():
        lost += weight * np.where(at > lowest, 1.0, np.where(at == lowest, 1 - (1 - ties) ** count, 0.0))
    return np.minimum(lost / total, 1.0)


def false_at(at: Ints, ties: Floats, level: Mapping[int, int], abandoned: Lists, matches: int) -> Floats:
    """The weight of abandoned partial matches that live on at each point, over `matches`; made ascending."""
    grouped: dict[tuple[int, int, int], int] = {}
    for keys, weight in abandoned.items():
        own = [level[key] for key in keys[:-1]]
        lowest = min(own, default=len(level))
        place = level[keys[-1]], lowest, own.count(lowest)
        grouped[place] = grouped.get(place, 0) + weight
    living = np.zeros(len(at))
    for (refuser, lowest, count), weight in grouped.items():
        gone = np.where(at > refuser, 1.0, np.where(at == refuser, ties, 0.0))
        living += weight * gone * np.where(at < lowest, 1.0, np.where(at == lowest, (1 - ties) ** count, 0.0))
    return np.maximum.accumulate(living) / max(1, matches)


def _lowest(matches: Lists, level: Mapping[int, int]) -> dict[tuple[int, int], int]:
    """Weights of matches by their lowest level and how many of their events are on it."""
    grouped: dict[tuple[int, int], int] = {}
    for keys, weight in matches.items():
        levels = [level[key] for key in keys]
        lowest = min(levels, default=len(level))
        place = lowest, levels.count(lowest)
        grouped[place] = grouped.get(place, 0) + weight
    return grouped
