"""The windowing operator's blocks: dense, bounded, and only where something moved."""

from __future__ import annotations

import orjson
import pytest

from saffron.engine.events.codec import encode_block
from saffron.engine.events.raw import batch_of_values
from saffron.engine.windows import WindowingOperator
from tests.unit.engine.windows.records import SCHEMA, batch, controls, events


def test_blocks_are_dense_and_bounded() -> None:
    operator = WindowingOperator(0, "events", SCHEMA, max_block_events=4)
    operator.ingest(events(*range(10)))
    blocks = operator.flush()
    assert [(block.first_seq, block.next_seq, block.counter, block.watermark) for block in blocks] == [
        (0, 4, 0, 4),
        (4, 8, 5, 8),
        (8, 10, 9, 9),
    ]
    assert operator.flush() == []


@pytest.mark.parametrize(
    ("count", "text", "attributes"),
    [(20, "é" * 500_000, {}), (4_000, "x" * 4_000, {}), (4_000, "", {f"a{number}": 1 for number in range(300)})],
    ids=["a few long ones", "many long ones", "many wide ones"],
)
def test_no_block_is_larger_than_a_message(count: int, text: str, attributes: dict[str, int]) -> None:
    operator = WindowingOperator(0, "events", max_block_events=8192)
    bodies = ({"type": "A", "ts": ts, **attributes, "text": f"{ts}{text}"} for ts in range(count))
    operator.ingest(batch_of_values(list(map(orjson.dumps, bodies))))
    blocks = operator.flush()
    assert [block.first_seq for block in blocks[1:]] == [block.next_seq for block in blocks[:-1]]
    assert blocks[-1].next_seq == count
    assert 1 < len(blocks) < 30
    assert max(len(encode_block(block)) for block in blocks) < 9 << 20


def test_empty_blocks_only_when_something_moved() -> None:
    operator = WindowingOperator(0, "events", SCHEMA)
    assert controls(operator.flush()) == [(0, "schema", None)]
    operator.ingest(batch("bad"))
    assert operator.flush() == []
    operator.advance_watermark(50)
    assert [(len(block.columns), block.watermark, block.end) for block in operator.flush()] == [(0, 50, False)]
    operator.advance_watermark(50)
    assert operator.flush() == []
    operator.advance_watermark(50, end=True)
    assert [(block.watermark, block.end) for block in operator.flush()] == [(50, True)]


def test_message_time_travels_in_the_block() -> None:
    operator = WindowingOperator(0, "events", SCHEMA)
    operator.ingest(batch('{"type":"A","ts":1}', '{"type":"A"}', times=[5, 7]))
    assert operator.flush()[0].columns.time.tolist() == [5, 7]
