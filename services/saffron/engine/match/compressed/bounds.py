"""Where the matches that end with an event may begin, by windows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saffron.engine.match.windows import Windows

Ints = NDArray[np.int64]


def ends_in_windows(windows: Windows, positions: Ints, instants: Ints) -> tuple[Ints, Ints, Ints]:
    """(end, low, serial): for each window of each ending event in turn its number, first instant, and serial number.

    positions, instants: int64 [n] of the events. Low and serial are as in `Windows.holding`; of windows that OPEN ON
    opens, the serial is the position from which on events are in. WITHIN alone: one window that ends with the event.
    """
    size, slide = windows.window.size, windows.window.slide
    if windows.window.opens is not None:
        begin = np.searchsorted(windows.openers[1], instants - size, side="right")
        stop = np.searchsorted(windows.openers[0], positions, side="right")
    elif slide is not None:
        begin = np.floor_divide(instants - size, slide) + 1
        stop = np.floor_divide(instants, slide) + 1
        if windows.window.events:
            begin = np.maximum(begin, 0)
    else:
        low = instants - (size - 1 if windows.window.events else size)
        return np.arange(len(low)), low, low
    counts = np.maximum(stop - begin, 0)
    end = np.repeat(np.arange(len(counts)), counts)
    number = np.arange(len(end)) - np.repeat(np.cumsum(counts) - counts, counts) + begin[end]
    if windows.window.opens is not None:
        return end, windows.openers[1, number], windows.openers[0, number]
    return end, number * slide, number * slide


def firsts(end: Ints, low: Ints) -> tuple[Ints, Ints]:
    """Of each event only its first window, which holds all matches that any of its windows holds."""
    chosen = np.flatnonzero(np.diff(end, prepend=-1))
    return end[chosen], low[chosen]
