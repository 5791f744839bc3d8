"""The arithmetic of windows, shared by all engines: which windows hold an event, and when they close.

Positions are timestamps (ms) or, for windows in EVENTS, sequence numbers. Windows [k*slide, k*slide + size) are
numbered by k; those over sequence numbers have k >= 0 (language.md, "WITHIN"). Every function takes single positions,
in kernels too, or arrays of them.

`trends.kernels.windows` has the same arithmetic in its text, which is rewritten for each query.
"""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from saffron.engine.kernels.jit import jitable

NO_WATERMARK = -(2**62)
"""The watermark before the first event."""
NEVER = 2**62
"""A deadline that nothing reaches but the end of the stream."""


@jitable
def first_window(position, size, slide):
    """The number of the first window that ends behind a position: it holds it, unless slide > size left a gap."""
    return (position - size) // slide + 1


@jitable
def last_window(position, slide):
    """The number of the last window that begins at or before a position."""
    return position // slide


@jitable
def common_windows(first, last, size, slide, events):
    """(low, high): windows low..high-1 hold both the first and the last event of a match; none where low >= high."""
    low = first_window(last, size, slide)
    return np.maximum(low, 0) if events else low, last_window(first, slide) + 1


@jitable
def run_deadline(first, size, slide, events):
    """The last position that shares a window with `first`; before `first` where no window holds it.

    A run that began at `first` expires before the first event beyond it. slide 0: WITHIN alone, where last - first is
    at most `size` ms, or a match holds at most `size` events.
    """
    if slide == 0:
        return first + (size - 1 if events else size)
    return window_deadline(last_window(first, slide) * slide, size)


@jitable
def window_deadline(low, size):
    """The last position of a window that begins at `low`; it closes before the first event beyond it."""
    return low + (size - 1)
