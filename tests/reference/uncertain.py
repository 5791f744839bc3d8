"""Confidence of one match from the definition: every combination of its own events' times, with exact fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise, product

from tests.reference.match.worlds import Vague


def confidence(
    parts: Sequence[Sequence[Vague]], loose: Sequence[bool], *, within: int, window: tuple[int, int] | None
) -> Fraction:
    """`parts`: the events by component, in the order of the match; `loose`: components whose events have no order.

    `within`: largest last - first, where `window` is None; `window`: [lo, hi) that holds all times.
    """
    events = [event for part in parts for event in part]
    held = Fraction(0)
    for choice in product(*(list(event.times()) for event in events)):
        times = [ts for ts, _ in choice]
        if _in_order(parts, loose, times) and _in_window(times, within, window):
            chance = Fraction(1)
            for _, weight in choice:
                chance *= weight
            held += chance
    return held


def _in_order(parts: Sequence[Sequence[Vague]], loose: Sequence[bool], times: Sequence[int]) -> bool:
    latest, at = None, 0
    for part, any_order in zip(parts, loose, strict=True):
        own = times[at : at + len(part)]
        at += len(part)
        if latest is not None and min(own) <= latest:
            return False
        if not any_order and any(after <= before for before, after in pairwise(own)):
            return False
        latest = max(own)
    return True


def _in_window(times: Sequence[int], within: int, window: tuple[int, int] | None) -> bool:
    low, high = min(times), max(times)
    return high - low <= within if window is None else window[0] <= low and high < window[1]
