"""Load reports from the readers of `admitted` to the shedder, for services and for the virtual clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from typing import Any


@dataclass(frozen=True)
class ReportedCounters:
    """A reader's counters at its last report.

    `at`: ms since 1970; `clock_ns`: its own clock; `busy_ns`: time of work.
    """

    position: int = 0
    events: int = 0
    processing_ns: int = 0
    nanoseconds: Mapping[str, int] = field(default_factory=dict)
    at: int = 0
    clock_ns: int = 0
    busy_ns: int = 0


@dataclass(frozen=True)
class WorkDone:
    """The work between two reports, up to `position`.

    `processing_ns`: time for events and their results. `nanoseconds`: the same by query. `elapsed_ns`: time that
    passed. `other_ns`: time of other work in it. `commit_ms`: longest time from applying a block to its commit.
    """

    position: int
    events: int = 0
    processing_ns: int = 0
    nanoseconds: Mapping[str, int] = field(default_factory=dict)
    elapsed_ns: int = 0
    other_ns: int = 0
    commit_ms: float = 0.0


def load_of(numbers: Mapping[str, Any], done: WorkDone) -> dict[str, Any]:
    """The fields of a `load` message about work done. `numbers`: the statistics of the reader's operator."""
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
