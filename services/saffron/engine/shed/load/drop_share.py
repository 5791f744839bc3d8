"""The share of events to drop (G7), so that the rest is done in time over a drop interval."""

from __future__ import annotations


def drop_share(*, backlog: float, rate: float, capacity: float, interval: float, slack: float) -> float:
    """delta = 1 - capacity (interval + slack) / (backlog + rate interval), held between 0 and 1.

    `backlog`: events waiting. `rate`, `capacity`: events a ms that come, and that can be done. Over the next `interval`
    ms so many come; the last of them may be done `slack` ms after it has come. Events are dropped as they are taken, so
    that the backlog shrinks by them too. The paper (gSPICE, section III-D) leaves the share open.
    """
    expected = backlog + rate * interval
    if expected <= 0:
        return 0.0
    return min(1.0, max(0.0, 1.0 - capacity * (interval + slack) / expected))
