"""The time that dropping an event saves in the long run: its own time, and that of partial matches (not in papers G3).

An event takes one check, and one more for each partial match alive. An event that begins a partial match makes every
later event dearer, as long as the partial match lives. An event that a match needs lets a partial match go on to its
end; without it, the partial match would stay for the next event of that kind.

Both follow from means. With A partial matches alive at an event and L begun at it, a partial match lives for A / L
events (Little's law). An event of a kind that has the share f of all comes again after 1 / f events.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from saffron.engine.models.features.feature_counts import WEIGHT, Half

Floats = NDArray[np.float64]

LEAST = 0.1
"""Of an event's own time: what its drop saves at least, whatever it would have ended."""


def times_saved(half: Half, contents: Mapping[int, int]) -> dict[int, float]:
    """The time that dropping an event saves, by its content (see `content_keys`); 1 is the event's own time.

    Empty where nothing is known of partial matches. `contents`: the content of each key.
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
