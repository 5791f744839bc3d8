"""The arithmetic of windows, shared by all engines: which windows hold an event, and when they close.

Positions are timestamps (ms) or, for windows in EVENTS, sequence numbers. Windows [k*slide, k*slide + size) are
numbered by k; those over sequence numbers have k >= 0 (language.md, "WITHIN"). Every function also serves in kernels.
"""

from __future__ import annotations

from saffron.engine.kernels.jit import jitable

NO_WATERMARK = -(2**62)
"""The watermark before the first event."""
NEVER = 2**62
"""A deadline that nothing reaches but the end of the stream."""


@jitable  # type: ignore[misc]
def first_window(position: int, size: int, slide: int, events: bool) -> int:
    """The number of the first window that ends behind `position`: it holds it, unless slide > size left a gap."""
    k = (position - size) // slide + 1
    return max(k, 0) if events else k


@jitable  # type: ignore[misc]
def last_window(position: int, slide: int) -> int:
    """The number of the last window that begins at or before `position`."""
    return position // slide


@jitable  # type: ignore[misc]
def common_windows(first: int, last: int, size: int, slide: int, events: bool) -> tuple[int, int]:
    """(low, high): windows low..high-1 hold both the first and the last event of a match; none where low >= high."""
    low = (last - size) // slide + 1
    if events:
        low = max(low, 0)
    return low, first // slide + 1


@jitable  # type: ignore[misc]
def window_start(k: int, slide: int) -> int:
    """Where window k begins."""
    return k * slide


@jitable  # type: ignore[misc]
def window_deadline(k: int, size: int, slide: int) -> int:
    """The last position that window k holds; it closes before the first event beyond it."""
    return k * slide + size - 1


@jitable  # type: ignore[misc]
def span_deadline(first: int, size: int, events: bool) -> int:
    """WITHIN alone: the last position that a match beginning at `first` may hold.

    In time, last - first <= size; in EVENTS, at most `size` events, so last - first <= size - 1.
    """
    return first + size - 1 if events else first + size


@jitable  # type: ignore[misc]
def run_deadline(first: int, size: int, slide: int, events: bool) -> int:
    """The last position that shares a window with `first`; `first` - 1 where no window holds it. slide 0: WITHIN alone.

    A run that began at `first` expires before the first event beyond it.
    """
    if slide == 0:
        return first + size - 1 if events else first + size
    return max(first // slide * slide + size - 1, first - 1)


@jitable  # type: ignore[misc]
def opened_deadline(opening: int, size: int) -> int:
    """The last position of a window [opening, opening + size) that an event opened."""
    return opening + size - 1
