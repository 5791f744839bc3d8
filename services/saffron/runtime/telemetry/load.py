"""What a reader of `admitted` tells the shedder of itself: one form for the services and for the virtual clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from typing import Any


@dataclass(frozen=True)
class ReportedCounters:
    """What a reader has told of its counters, and when: ms since 1970, ns of its own clock, ns of work."""

    position: int = 0
    events: int = 0
    processing_ns: int = 0
    nanoseconds: Mapping[str, int] = field(default_factory=dict)
    at: int = 0
    clock_ns: int = 0
    busy_ns: int = 0


@dataclass(frozen=True)
class WorkDone:
    """What was done since the message before, up to `position`: events, ns for them and the writing of their results,
    in all and by query, ns that passed, and of these `other_ns`, in which the reader was busy with something else;
    `commit_ms`: the longest that results of a block took from there to their commit."""

    position: int
    events: int = 0
    processing_ns: int = 0
    nanoseconds: Mapping[str, int] = field(default_factory=dict)
    elapsed_ns: int = 0
    other_ns: int = 0
    commit_ms: float = 0.0


def load_of(numbers: Mapping[str, Any], done: WorkDone) -> dict[str, Any]:
    """The fields of a message of `load` that say what was done. `numbers`: the statistics of the reader's operator."""
    trials, traced = numbers.get("trials", {}), numbers.get("traced", {})
    return {
        "position": done.position,
        "processing_ns": max(0, done.processing_ns),
        "events": max(0, done.events),
        "partial_matches": {query: int(count) for query, count in numbers["partial_matches"].items()},
        "nanoseconds": dict(done.nanoseconds),
        "elapsed_ns": max(0, done.elapsed_ns),
        "other_ns": max(0, done.other_ns),
        "commit_ms": round(max(0.0, done.commit_ms), 3),
        **{name: dict(numbers[name]) for name in ("found", "loss", "loss_ratio") if "loss" in numbers},
        **(_sampled(numbers["sampled"]) if numbers.get("sampled") else {}),
        **({"trials": {query: list(astuple(one)) for query, one in trials.items()}} if trials else {}),
        **(
            {"traced": {query: {"count": one.count, "matches": one.newest} for query, one in traced.items()}}
            if traced
            else {}
        ),
    }


def _sampled(numbers: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "sampled": {query: [one.true, one.missed, one.begun, one.squares] for query, one in numbers.items()},
        "false": {query: one.false for query, one in numbers.items()},
        "compared": {query: one.compared for query, one in numbers.items()},
    }


def increases(now: Mapping[str, int], before: Mapping[str, int]) -> dict[str, int]:
    """By query what a counter has increases by; one that was made anew counts from 0 again."""
    return {
        query: count - before.get(query, 0) if count >= before.get(query, 0) else count for query, count in now.items()
    }
