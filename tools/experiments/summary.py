"""An experiment in one line: of the complex events the share that the best baseline keeps, ours, and an oracle.

Medians over the points of the experiment. "false": of the complex events found those that are none, the worst of all
points. "in rule": the number of rows whose estimated loss is within a fifth of the true one and half a percentage
point; and that number with two standard errors of the true loss allowed for.
"""

from __future__ import annotations

import statistics
from collections.abc import Collection, Mapping, Sequence
from typing import Any

OURS = "auto"
BASELINES = frozenset({"pspice--", "pm-bl", "e-bl", "espice", "bl"})
_RELATIVE, _POINTS = 0.2, 0.5

Row = Mapping[str, Any]


def summary(varied: str, rows: Sequence[Row]) -> dict[str, Any]:
    """The summary of a table's `rows`, one for each value of `varied` and shedder. "-": no figure."""
    values = list(dict.fromkeys(row[varied] for row in rows))
    points = [[row for row in rows if row[varied] == value] for value in values]
    shed = [row for row in rows if row["shedder"] != "none"]
    return {
        "best baseline keeps %": _kept(points, BASELINES),
        "ours (auto) keeps %": _kept(points, {OURS}),
        "oracle keeps %": statistics.median(100 - rows[0]["oracle misses %"] for rows in points) if points else "-",
        "baselines' false %, worst": _false(rows, BASELINES),
        "ours false %, worst": _false(rows, {OURS}),
        "p99.9 ms, worst": max((row["p99.9 ms"] for row in shed), default="-"),
        "estimates in rule": f"{sum(_holds(row, 0.0) for row in shed)} of {len(shed)}",
        "with 2 standard errors": f"{sum(_holds(row, 2.0) for row in shed)} of {len(shed)}",
    }


def _false(rows: Sequence[Row], shedders: Collection[str]) -> float | str:
    return max((row["false %"] for row in rows if row["shedder"] in shedders), default="-")


def _kept(points: Sequence[Sequence[Row]], shedders: Collection[str]) -> float | str:
    """The median over the points of what the best of those rows keeps."""
    missed = [[row["missed %"] for row in rows if row["shedder"] in shedders] for rows in points]
    return statistics.median(100 - min(point) for point in missed) if missed and all(missed) else "-"


def _holds(row: Row, errors: float) -> bool:
    """True if the estimate is as near to the true loss as was promised, or so many standard errors farther."""
    off = abs(row["estimated %"] - row["missed %"])
    return bool(off <= _RELATIVE * row["missed %"] + _POINTS + errors * row["+-"])
