"""The time that dropping an event saves in the long run (not in papers G3): its own, and that of partial matches.

An event takes one check, and one for each partial match alive. One that begins a partial match makes every later event
dearer for as long as that lives; one that a match needs lets a partial match go on to its end, which would else stay
for the next one of its kind. Both follow from means: with A alive at an event and L begun at it, a partial match lives
for A / L events (Little's law), and what it lacks comes again after 1 / f events, f being the share of such events.
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
