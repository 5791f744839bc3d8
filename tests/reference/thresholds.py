"""What dropping events loses, match by match, from the probability with which each event is dropped (papers G6)."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod


def share(counts: Mapping[int, int], gone: Mapping[int, float]) -> float:
    """Share of events dropped."""
    return sum(count * gone[key] for key, count in counts.items()) / sum(counts.values())


def lost(matches: Mapping[tuple[int, ...], int], gone: Mapping[int, float]) -> float:
    """Share of matches of which an event is dropped."""
    total = sum(matches.values())
    return sum(weight * (1 - prod(1 - gone[key] for key in keys)) for keys, weight in matches.items()) / total


def false(abandoned: Mapping[tuple[int, ...], int], gone: Mapping[int, float], matches: int) -> float:
    """Abandoned partial matches whose refusing event (the last) is dropped and no other, for each match."""
    living = (weight * gone[keys[-1]] * prod(1 - gone[key] for key in keys[:-1]) for keys, weight in abandoned.items())
    return sum(living) / matches
