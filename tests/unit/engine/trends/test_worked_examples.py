"""The worked examples of the GRETA paper."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from saffron.engine.trends.trend_operator import TrendOperator
from tests.unit.engine.trends.build import block_of, query_control, schema_control
from tests.unit.engine.trends.examples import COUNTS, FIGURE_6, FIGURE_12, stream


def counts(text: str, events: list[dict[str, Any]]) -> list[tuple[int, int, int]]:
    running = TrendOperator(partition=0, compiled=False)
    controls = (schema_control(), query_control("q", text=text))
    results = running.apply(block_of(events, 0, len(events), watermark=2**62, end=True, controls=controls))
    assert running.statuses()["q"].state == "active", running.statuses()["q"].reason
    shown = [orjson.loads(line) for line in results.json(0, len(results))]
    return [(*line["window"], line["return"]["COUNT(*)"]) for line in shown]


@pytest.mark.parametrize(("pattern", "events", "expected"), COUNTS)
def test_counts_of_the_figures(pattern: str, events: str, expected: int) -> None:
    text = f"RETURN COUNT(*) PATTERN {pattern} WITHIN 1000 ms TIME STRICT"
    assert counts(text, stream(events)) == [(0, 1000, expected)]


@pytest.mark.parametrize(
    ("events", "per_event"),
    [
        (FIGURE_12, [1, 1, 3, 6, 10]),
        (FIGURE_6, [1, 1, 0, 3, 0, 6, 0, 0, 10, 22, 32]),
    ],
)
def test_count_of_each_vertex(events: str, per_event: list[int]) -> None:
    """A vertex's count is what it adds to the final count of a pattern that may end there."""
    found = []
    for number, event in enumerate(stream(events)):
        ends_at = "(SEQ(A+, B))+" if event["type"] == "B" else "SEQ((SEQ(A+, B))+, A+)"
        first = sum(n for *_, n in counts_of(ends_at, events, number + 1))
        before = sum(n for *_, n in counts_of(ends_at, events, number))
        alone = sum(n for *_, n in counts_of("A+", events, number + 1)) - sum(
            n for *_, n in counts_of("A+", events, number)
        )
        found.append(first - before + (alone if event["type"] == "A" else 0))
    assert found == per_event


def counts_of(pattern: str, events: str, number: int) -> list[tuple[int, int, int]]:
    text = f"RETURN COUNT(*) PATTERN {pattern} WITHIN 1000 ms TIME STRICT"
    return counts(text, stream(events)[:number])


def test_windows_of_10_that_slide_by_3() -> None:
    """Example 6, shifted by -1 so that the paper's windows are ours: those starting at -6, -3, 0, 3, 6."""
    events = [{**event, "ts": event["ts"] - 1} for event in stream(FIGURE_6)]
    text = "RETURN COUNT(*) PATTERN (SEQ(A+, B))+ WITHIN 10 ms SLIDE 3 ms TIME STRICT"
    assert counts(text, events) == [(-6, 4, 1), (-3, 7, 11), (0, 10, 43), (3, 13, 5), (6, 16, 1)]


def test_down_trends_of_section_2() -> None:
    prices = (10, 2, 9, 8, 7, 1, 6, 5, 4, 3)
    events = [{"seq": i, "ts": i, "type": "A", "x": float(price)} for i, price in enumerate(prices)]
    assert counts("RETURN COUNT(*) PATTERN A+ WHERE A.x > NEXT(A).x WITHIN 1 hour", events) == [(0, 3_600_000, 275)]


def test_figure_10_increasing_values() -> None:
    """Without a condition all 7 trends of three events; each edge that the condition forbids takes some away."""
    events = [{"seq": i, "ts": i, "type": "A", "x": x} for i, x in enumerate((5.0, 6.0, 4.0))]
    assert counts("RETURN COUNT(*) PATTERN A+ WITHIN 1 hour", events)[0][2] == 7
    assert counts("RETURN COUNT(*) PATTERN A+ WHERE A.x < NEXT(A).x WITHIN 1 hour", events)[0][2] == 4
