"""What runs did, for the model builder (P2): transitions counted per event of the stream and run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saffron.engine.match.layout import BEGAN, DIED, LEFT, LIVED, MET, MOVED, place
from saffron.engine.match.query import QueryRuns
from saffron.engine.match.standing import Standing


def transition_rows(standing: Standing) -> list[Mapping[str, Any]]:
    """Rows of `observations.transitions` since the last call. States: 0 nothing bound, c + 1 component c bound, m - 1
    the match; every event of the stream meets every run, most of them without effect."""
    runs = standing.runs
    if not isinstance(runs, QueryRuns) or not runs.program.flat:
        return []
    totals = _totals(runs)
    before = standing.reported or {}
    standing.reported = totals
    counts = {name: value - before.get(name, 0) for name, value in totals.items()}
    shared = {
        "query": standing.name,
        "query_version": standing.version,
        "states": len(runs.plan.components) + 1,
        "window": {"size": runs.plan.window.size, "events": runs.plan.window.events},
        "events": counts["events"],
        "lived": 0 if runs.plan.window.events else counts["lived"],
    }
    cells = ((name, value) for name, value in counts.items() if name not in ("events", "lived"))
    return [
        {**shared, "from": int(name.split(">")[0]), "to": int(name.split(">")[1]), "count": value}
        for name, value in cells
        if value > 0
    ]


def _totals(runs: QueryRuns) -> dict[str, int]:
    counters = runs.counters
    began = int(counters[BEGAN])
    totals = {"events": runs.ordinal, "lived": int(counters[LIVED]), "0>1": began, "0>0": runs.ordinal - began}
    for index in range(min(len(runs.pools), len(runs.plan.components) - 1)):
        met, moved, left, died = (int(counters[place(index, which)]) for which in (MET, MOVED, LEFT, DIED))
        state = index + 1
        totals[f"{state}>{state}"] = met - left - died
        totals[f"{state}>{state + 1}"] = moved
        totals[f"{state}>-1"] = died
    return totals
