"""The worth of events that a NOT looks for (papers G2), estimated from means, without following partial matches.

Such an event ends the partial matches that are in its gap. These are at most those that are alive, and at most those
that began since the last such event. They are taken to become matches as often as all partial matches that begin. If
the event is dropped, each of these matches is one too many: that is the loss of the drop.
"""

from __future__ import annotations

from dataclasses import replace

from saffron.engine.models.features.feature_counts import WEIGHT, Half
from saffron.engine.models.features.list_sample import ListSample


def with_refusals(half: Half) -> Half:
    """`half` with estimated abandoned partial matches, whose events are unknown but for the last."""
    refusers, matches = sum(half.refusing.values()), sum(half.matches.lists().values())
    begun, events = sum(half.occurrences.get(key, 0) for key in half.begun), sum(half.occurrences.values())
    if not refusers or not begun or not events:
        return half
    parts = min(half.met / events, begun / refusers) * matches / max(begun, matches // WEIGHT)
    contributions, abandoned = dict(half.contributions), ListSample()
    for key, count in half.refusing.items():
        own = round(parts * count)
        contributions[key] = contributions.get(key, 0) + own
        abandoned.add((key,), own)
    return replace(half, contributions=contributions, abandoned=abandoned)
