"""The estimated time that dropping an event saves: its own processing, and that of partial matches (not in papers G3).

An event costs one check, and one more for each partial match alive. An event that begins a partial match makes every
later event cost a check more while the partial match lives. Dropping an event of a match costs time instead: the
partial match stays alive until the next event of that kind.

Both effects are estimated from means. With A partial matches alive at an event and L begun per event, a partial match
lives for A / L events (Little's law). A kind with share f of all events comes every 1 / f events.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from saffron.engine.models.features.feature_counts import WEIGHT, Half

Floats = NDArray[np.float64]

LEAST = 0.1
"""The least time that a drop saves, as a share of the event's own time."""


def times_saved(half: Half, contents: Mapping[int, int]) -> dict[int, float]:
    """The time that dropping an event saves, by its content (see `content_keys`), in units of the event's own time.

    Empty where no partial matches were observed. `contents`: key -> its content.
    """
    occurred, begun, contributed = (
        _by_content(counts, contents) for counts in (half.occurrences, half.begun, half.contributions)
    )
    events = sum(half.occurrences.values())
    beginners = sum(occurred.get(content, 0) for content, count in begun.items() if count)
    if not half.met or not beginners or not events:
        return {}
    alive = half.met / events
    lifetime = alive * events / beginners
    times = {}
    for content, count in occurred.items():
        begins = lifetime if begun.get(content) else 0.0
        advanced = (contributed.get(content, 0) - begun.get(content, 0)) / WEIGHT / max(1, count)
        ends = advanced * min(lifetime, events / max(1, count))
        times[content] = max(LEAST, 1.0 + (begins - ends) / (1.0 + alive))
    return times


def _by_content(counts: Mapping[int, int], contents: Mapping[int, int]) -> dict[int, int]:
    found: dict[int, int] = {}
    for key, count in counts.items():
        if key in contents:
            found[contents[key]] = found.get(contents[key], 0) + count
    return found
