"""The worked examples of the GRETA paper (and what follows from them by its section 9)."""

from __future__ import annotations

import re
from typing import Any

FIGURE_12 = "a1(x=5) b2 a3(x=6) a4(x=4) b7"
FIGURE_6 = "a1 b2 c2 a3 e3 a4 c5 d6 b7 a8 b9"
PRICES = " ".join(f"a{place}(x={price})" for place, price in enumerate((10, 2, 9, 8, 7, 1, 6, 5, 4, 3)))
NESTED = "(SEQ(A+, B))+"
ALL = "COUNT(*), COUNT(A), MIN(A.x), MAX(A.x), SUM(A.x), AVG(A.x)"

COUNTS = [
    (NESTED, FIGURE_12, 11),
    (NESTED, FIGURE_6, 43),
    ("A+", FIGURE_6, 15),
    ("SEQ(A+, B)", FIGURE_6, 23),
    ("SEQ(SEQ(A+, B)+, A+)", "a1 b2 c2 a3 e3 a4", 3),
    ("(SEQ(A+, NOT SEQ(C, NOT E, D), B))+", FIGURE_6, 13),
    ("SEQ(A+, NOT E)", FIGURE_6, 14),
    ("SEQ(NOT E, A+)", FIGURE_6, 12),
    ("SEQ(A+, B, A, A+, B+)", "a1 b2 a3 a4 b5", 1),
    ("SEQ(A, A, A+)", FIGURE_6, 5),  # minimal trend length, section 9
    ("A{3,}", FIGURE_6, 5),
    ("A OR SEQ(A+, B)", FIGURE_6, 27),
    ("SEQ(A*, B)", FIGURE_6, 26),
    ("SEQ(A?, B)", FIGURE_6, 11),
]
"""(pattern, events, trends under TIME STRICT in one window)."""


def stream(text: str) -> list[dict[str, Any]]:
    """The paper's notation: `a1(x=5)` is A at 1."""
    events: list[dict[str, Any]] = []
    for kind, ts, x in re.findall(r"([a-z])(-?\d+)(?:\(x=(\d+)\))?", text):
        events.append({"seq": len(events), "ts": int(ts), "type": kind.upper(), "x": int(x) if x else None})
    return events
