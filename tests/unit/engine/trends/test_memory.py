"""State is bounded by the windows: keys, vertices and strings that no window holds any more are freed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import orjson
import pytest

from saffron.engine.events.block import Block
from saffron.engine.events.column_operations import take_columns
from saffron.engine.events.columns import Column, Columns
from saffron.engine.trends.trend_operator import TrendOperator
from saffron.schema.schema import Kind, Schema
from tests.unit.engine.trends.build import query_control, schema_control

SCHEMA = Schema({"k": Kind.STRING, "x": Kind.FLOAT}, {"A": ("k", "x")}, {"A": frozenset()})


def blocks(text: str, number: int, size: int, keys_per_ms: int) -> Iterator[Block]:
    """Events of ever new keys, each key living for a millisecond."""
    for block in range(number):
        seq = np.arange(block * size, (block + 1) * size)
        ts = seq // (4 * keys_per_ms)
        keys = ts * keys_per_ms + seq % keys_per_ms
        distinct, codes = np.unique(keys, return_inverse=True)
        columns = Columns(
            seq,
            ts,
            np.zeros(size, dtype=np.int64),
            Column(Kind.STRING, np.zeros(size, dtype=np.int32), ("A",)),
            {
                "k": Column(Kind.STRING, codes.astype(np.int32), tuple(f"key {key}" for key in distinct.tolist())),
                "x": Column(Kind.FLOAT, (seq % 7).astype(np.float64)),
            },
        )
        controls = (schema_control(0, SCHEMA), query_control("q", text=text)) if block == 0 else ()
        yield Block(columns, int(seq[0]), int(seq[-1]) + 1, int(ts[-1]), controls=controls)


@pytest.mark.parametrize(
    "text",
    [
        "RETURN k, COUNT(*) PATTERN A+ GROUP BY k WITHIN 10 ms SLIDE 1 ms",
        "RETURN k, COUNT(*) PATTERN A+ WHERE A.x < NEXT(A).x GROUP BY k WITHIN 10 ms",
        "RETURN COUNT(*) PATTERN SEQ(A a, A b) WHERE a.k != NEXT(b).k WITHIN 300 EVENTS SLIDE 100 EVENTS",
    ],
)
def test_keys_and_strings_come_and_go_in_flat_memory(text: str) -> None:
    """300,000 events, 75,000 keys."""
    operator = TrendOperator(partition=0)
    sizes, strings = [], []
    for block in blocks(text, 60, 5000, 100):
        operator.apply(block)
        sizes.append(operator.statistics()["state_bytes"])
        strings.append(len(operator.snapshot()["0.strings"]))
    assert max(sizes[20:]) <= max(sizes[:20])
    assert max(strings[20:]) <= 1.1 * max(strings[:20])


@pytest.mark.parametrize(("windows", "aggregate"), [(10, "COUNT(*)"), (60, "SUM(A.x)")])
def test_windows_that_share_panes_take_16_bytes_an_event_each(windows: int, aggregate: str) -> None:
    """Keys of four events each, all in one pane; at most 64 bytes an event and 16 for each further window."""
    operator = TrendOperator(partition=0)
    text = f"RETURN {aggregate} PATTERN A+ WHERE [k] WITHIN {windows} ms SLIDE 1 ms"
    sizes = []
    for block in blocks(text, 4 * windows, 200, 100):
        operator.apply(block)
        sizes.append(operator.statistics()["state_bytes"])
    assert max(sizes) <= (64 + 16 * (windows - 1)) * 400 * windows


def test_results_of_the_past_keep_the_strings_of_their_groups() -> None:
    """25,000 keys, each gone for long when the results of the past are written."""
    operator = TrendOperator(partition=0)
    past = list(blocks("", 20, 5000, 100))
    text = "RETURN k, COUNT(*) PATTERN A+ GROUP BY k WITHIN 10 ms"
    now = past[-1].next_seq
    controls = (schema_control(now, SCHEMA), query_control("q", now, text=text, since="earliest"))
    none = take_columns(past[0].columns, np.zeros(0, dtype=np.int64))
    last = Block(none, now, now, past[-1].watermark, controls=controls)
    results = operator.apply(last, lambda: iter(past))
    groups = [orjson.loads(line)["group"]["k"] for line in results.json(0, len(results))]
    expected = [f"key {number}" for number in range(len(groups))]
    assert len(groups) > 20_000
    assert sorted(groups) == sorted(expected)


def test_nothing_is_left_of_a_stream_that_fell_silent() -> None:
    operator = TrendOperator(partition=0)
    text = "RETURN k, COUNT(*) PATTERN A+ WHERE A.x < NEXT(A).x GROUP BY k WITHIN 10 ms"
    for block in blocks(text, 10, 5000, 100):
        operator.apply(block)
    assert operator.statistics()["keys"]["q"] >= 500
    none = np.zeros(0, dtype=np.int64)
    empty = Columns(
        none,
        none,
        none,
        Column(Kind.STRING, np.zeros(0, dtype=np.int32)),
        {"k": Column(Kind.STRING, np.zeros(0, dtype=np.int32)), "x": Column(Kind.FLOAT, np.zeros(0))},
    )
    last = operator.apply(Block(empty, block.next_seq, block.next_seq, 10**6))
    assert len(last) > 0
    operator.apply(Block(empty, block.next_seq, block.next_seq, 10**6))
    numbers = operator.statistics()
    assert numbers["keys"] == numbers["vertices"] == numbers["open_windows"] == {"q": 0}
    assert numbers["state_bytes"] < 200_000


def test_a_key_of_many_vertices_keeps_those_of_open_windows_only() -> None:
    operator = TrendOperator(partition=0)
    text = "RETURN COUNT(*) PATTERN A+ WHERE A.x < NEXT(A).x WITHIN 200 EVENTS SLIDE 50 EVENTS"
    sizes = []
    for block in blocks(text, 40, 1000, 1):
        operator.apply(block)
        sizes.append(operator.statistics()["state_bytes"])
        assert operator.statistics()["vertices"]["q"] <= 200
    assert max(sizes[10:]) <= max(sizes[:10])
