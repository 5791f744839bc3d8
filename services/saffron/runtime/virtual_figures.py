"""What `--stats` says of a replay under a latency bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from saffron.runtime.virtual_loop import Loop
from saffron.runtime.virtual_training import Trained


def figures_of(loop: Loop, trained: Trained, names: Sequence[str]) -> dict[str, Any]:
    """`capacity` in events a second; `busy_seconds`: of the virtual ones, those of work; `overhead`: the share of these
    that shedding itself took; `model`: by query the version of its transition model in force, null where it is shed
    without one."""
    matcher, shedder = loop.server.engines.matcher.statistics(), loop.shedder.statistics()
    return {
        "capacity": round(trained.capacity, 1),
        "virtual_seconds": round(loop.finished / 1000, 6),
        "busy_seconds": round(loop.busy_ns / 1e9, 6),
        "overhead": round(loop.shedding_ns / loop.busy_ns, 6) if loop.busy_ns else 0.0,
        "latency_ms": loop.results.summary(),
        "event_latency_ms": loop.events.summary(),
        "dropped_events": sum(shedder["shed_events"].values()),
        "dropped_partial_matches": matcher["dropped_partial_matches"],
        "estimated_loss": {name: round(shedder["missed"][name], 6) for name in names},
        "model": {name: shedder["models"].get(name) for name in names},
    }
