"""The position of an event in its window, as a feature of eSPICE (papers G9)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saffron.language.plan.clauses import Window

Ints = NDArray[np.int64]

BINS = 10
"""The number of positions that are distinguished in SLIDE: each, with each kind, is a cell that must be observed."""


def position_bins(window: Window, instants: Ints) -> Ints:
    """[n] the tenth of SLIDE in which each event stands; 0 for all where windows begin with events.

    It gives the event's places in all windows that hold it. `instants`: times or, of EVENTS windows, positions.
    """
    if window.slide is None:
        return np.zeros(len(instants), np.int64)
    bins: Ints = instants % window.slide * BINS // window.slide
    return bins
