"""The figures that `--stats` shows of a replay under a latency bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saffron.engine.shed.losses.expected import Expected
from saffron.experiments.virtual_loop import Loop
from saffron.experiments.virtual_training import Trained


def figures_of(loop: Loop, trained: Trained, names: Sequence[str], weights: Mapping[str, float]) -> dict[str, Any]:
    """The figures of a run, as JSON values. Shares are by query.

    - `capacity`: events a second. `overhead`: the share of `busy_seconds` that shedding took.
    - `busy_seconds`: the part of `virtual_seconds` in which there was work.
    - `model`: the version of a query's transition model in force; null where it is shed without one.
    - `believed`: the belief in a query's learned orders at the end, by means.
    - `estimated_loss`, `estimated_false`: of due and of found matches. `estimated_in_all`: both, together by the
    queries'
      weights, as recall and precision are.
    """
    matcher, shedder = loop.server.engines.matcher.statistics(), loop.shedder.statistics()
    in_all = Expected.together((weights.get(name, 1.0), shedder["expected"][name]) for name in names)
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
        "estimated_false": {name: round(shedder["false"][name], 6) for name in names},
        "estimated_in_all": {"loss": round(in_all.missed_share, 6), "false": round(in_all.false_share, 6)},
        "model": {name: shedder["models"].get(name) for name in names},
        "believed": {name: dict(shedder["believed"].get(name, {})) for name in names},
    }
