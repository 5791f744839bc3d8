"""The baselines that look at an event's kind only: E-BL of pSPICE and BL of gSPICE, which are one (papers P10, G9).

A kind's utility follows from its repetition in the pattern (events of it in a match) and in the stream (its share of
events). The papers say "proportional to both". That may mean the product, by which rare kinds go first, or the ratio of
needed to present events, by which frequent kinds go first. The baselines use the reading that loses less over all
shares. Kinds that no match needs go first. Each other kind has a drop rate inversely proportional to its utility, and
all its events are equally likely to go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saffron.engine.models.features.feature_counts import Half
from saffron.engine.models.features.list_sample import Lists
from saffron.engine.shed.drops.rates import rates_at

Floats = NDArray[np.float64]

_POINTS = 257


@dataclass(frozen=True)
class KindCut:
    """A cut by kind. `rates` [codes]: the drop rate of each kind of event. The others are as in `curve.Cut`."""

    rates: Floats
    share: float
    lost: float
    false: float


@dataclass(frozen=True)
class KindRates:
    """The drop rates by kind of event, at all shares.

    `frequency`, `utility` [codes]. `lost`, `false` [257]: at shares 0, 1/256, ..., 1 of events dropped.
    """

    frequency: Floats
    utility: Floats
    lost: Floats
    false: Floats

    def at(self, share: float) -> KindCut:
        """The cut that drops this share of events; its loss is linear between points."""
        share = min(max(share, 0.0), 1.0)
        points = np.linspace(0.0, 1.0, _POINTS)
        lost, false = (float(np.interp(share, points, one)) for one in (self.lost, self.false))
        return KindCut(rates_at(share, self.frequency, self.utility), share, lost, false)


def kind_rates(counts: Half, kinds: Mapping[int, int], codes: int) -> KindRates:
    """The rates of `codes` kinds from `counts`; `kinds` has the code of each key.

    Keys without one count as the last code, that of unknown kinds.
    """
    frequency, repetition = np.zeros(codes), np.zeros(codes)
    for key, count in counts.occurrences.items():
        frequency[kinds.get(key, codes - 1)] += count
    for key, parts in counts.contributions.items():
        repetition[kinds.get(key, codes - 1)] += parts
    frequency /= max(1.0, float(frequency.sum()))
    repetition /= max(1, sum(counts.matches.lists().values()))
    needed = np.divide(repetition, frequency, out=np.zeros(codes), where=frequency > 0)
    readings = [_losing(counts, kinds, frequency, utility) for utility in (frequency * repetition, needed)]
    return min(readings, key=lambda rates: float(rates.lost.sum() + rates.false.sum()))


def _losing(counts: Half, kinds: Mapping[int, int], frequency: Floats, utility: Floats) -> KindRates:
    """The loss of dropping by these utilities, by shares of events."""
    unknown, drawn = len(frequency) - 1, _drawn(frequency, utility)
    kept, lists, abandoned = 1.0 - drawn, counts.matches.lists(), counts.abandoned.lists()
    lost, living, matches = np.zeros(_POINTS), np.zeros(_POINTS), max(1, sum(lists.values()))
    for codes, weight in _by_codes(lists, kinds, unknown).items():
        lost += weight * (1.0 - kept[:, codes].prod(axis=1))
    for codes, weight in _by_codes(abandoned, kinds, unknown).items():
        living += weight * kept[:, codes[:-1]].prod(axis=1) * drawn[:, codes[-1]]
    false = np.maximum.accumulate(living) / matches
    return KindRates(frequency, utility, lost / matches, false)


def _by_codes(lists: Lists, kinds: Mapping[int, int], unknown: int) -> dict[tuple[int, ...], int]:
    """Weights by the codes of a list's keys, in its order."""
    found: dict[tuple[int, ...], int] = {}
    for keys, weight in lists.items():
        codes = tuple(kinds.get(key, unknown) for key in keys)
        found[codes] = found.get(codes, 0) + weight
    return found


def _drawn(frequency: Floats, utility: Floats) -> Floats:
    """[257, codes]: rates at each point."""
    return np.array([rates_at(point, frequency, utility) for point in np.linspace(0.0, 1.0, _POINTS)])
