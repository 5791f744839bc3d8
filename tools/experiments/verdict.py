"""Sentences on runs on the real pipeline: whether there was too much load, and whether the bounds were held."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from saffron.language.cost.shedders import NONE

APART = 5.0
"""Percentage points of false negatives that the real and the virtual clock may be apart."""

Row = Mapping[str, Any]


def verdict(varied: str, rows: Sequence[Row], bound_ms: float) -> list[str]:
    """Sentences on what is wrong with these rows; else one sentence that nothing is."""
    wrong = [
        f"{varied} {row[varied]:g}, {row['shedder']}: {sentence}" for row in rows for sentence in _wrong(row, bound_ms)
    ]
    good = f"without shedding the bound is broken; with it held, and lost is what the virtual clock says (+- {APART:g})"
    return wrong or [good]


def _wrong(row: Row, bound_ms: float) -> Iterator[str]:
    late = row["p99.9 ms"]
    if row["shedder"] == NONE:
        if late <= bound_ms:
            yield f"p99.9 is {late:.0f} ms, so that this shows nothing: it takes more --seconds, or a higher rate"
        return
    if late > bound_ms:
        yield f"the bound is broken, p99.9 is {late:.0f} ms"
    apart = abs(row["missed %"] - row["virtual missed %"])
    if apart > APART:
        yield f"{apart:.1f} points from the virtual clock, at a standard error of {row['+-']:.1f}"
