"""Bounds on where the matches that end with an event may begin, by windows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saffron.engine.match.core.windows import Windows

Ints = NDArray[np.int64]


def ends_in_windows(windows: Windows, positions: Ints, instants: Ints) -> tuple[Ints, Ints, Ints]:
    """(end, low, serial): for each window of each ending event in turn its number, first instant, and serial number.

    positions, instants: int64 [n] of the events. Low and serial are as in `Windows.holding`; of windows that OPEN ON
    opens, the serial is the position from which on events are in. WITHIN alone: one window that ends with the event.
    """
    held = windows.holding(positions, instants, instants)
    if held is not None:
        return held
    low = instants - (windows.window.size - 1 if windows.window.events else windows.window.size)
    return np.arange(len(low)), low, low


def firsts(end: Ints, low: Ints) -> tuple[Ints, Ints]:
    """The first window of each event. It holds all matches that any window of the event holds."""
    chosen = np.flatnonzero(np.diff(end, prepend=-1))
    return end[chosen], low[chosen]
