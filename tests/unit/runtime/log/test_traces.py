"""Trace context: read from headers, carried by blocks, given to the complex event that an event completes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from saffron.engine.events.block import Block
from saffron.engine.events.codec import decode_block, encode_block
from saffron.engine.events.raw import batch_of_lines
from saffron.engine.match.match_operator import MatchOperator
from saffron.engine.windows import WindowingOperator
from saffron.records.query import QueryRecord
from saffron.runtime.log.traces import trace_headers, traces_of
from saffron.schema.schema import END_OF_TIME, Kind, Schema

PARENT = b"00-0af7651916cd43dd8448eb211c80319c-%016x-01"
SCHEMA = Schema({"x": Kind.INT}, {"A": ("x",), "B": ("x",), "C": ("x",)}, dict.fromkeys("ABC", frozenset()))
PAIR = QueryRecord("pair", 1, "add", "PATTERN SEQ(A a, B b) WHERE [x] WITHIN 1 second")
QUIET = QueryRecord("quiet", 1, "add", "PATTERN SEQ(B b, NOT C c) WHERE [x] WITHIN 2 ms")


def test_only_what_is_trace_context_is_taken() -> None:
    good = PARENT % 7
    assert traces_of([None, [("h", b"1")]]) is None
    assert traces_of([[("traceparent", good)], None]) == [good.decode(), None]
    found = traces_of([[("tracestate", b"v=1"), ("traceparent", good)]])
    assert found == [good.decode() + "\nv=1"]


@pytest.mark.parametrize(
    "wrong", [b"", b"00-zz-1-01", PARENT % 0, b"ff" + (PARENT % 7)[2:], b"\xff", (PARENT % 7).upper()]
)
def test_what_breaks_the_form_is_none(wrong: bytes) -> None:
    assert traces_of([[("traceparent", wrong)]]) is None


def test_a_complex_event_has_the_context_of_the_event_that_completes_it() -> None:
    windowing = WindowingOperator(0, "events", SCHEMA)
    windowing.query("pair", PAIR)
    windowing.query("quiet", QUIET)
    lines = [f'{{"type":"{kind}","ts":{ts},"x":{ts % 2}}}' for ts, kind in enumerate("AABABBBB")]
    batch = batch_of_lines("\n".join(lines).encode())
    traces = [None if number == 2 else (PARENT % (number + 1)).decode() for number in range(8)]
    windowing.ingest(replace(batch, traces=traces))
    windowing.advance_watermark(END_OF_TIME)
    matcher = MatchOperator(partition=0, stream="events", compiled=False)
    seen = []
    for block in map(through_the_log, windowing.flush()):
        results = matcher.apply(block)
        traced = trace_headers(block.columns, results, 0, len(results)) if block.columns.trace is not None else []
        seen += [(results.names[query], one) for query, one in zip(results.query.tolist(), traced, strict=True)]
    pairs = [dict(one).get("traceparent") for name, one in seen if name == "pair"]
    assert pairs == [None, PARENT % 6, PARENT % 6], "both runs that wait end with the sixth event"
    quiet = [one for name, one in seen if name == "quiet"]
    assert quiet == [()] * 5, "time completes them, and no event"


def through_the_log(block: Block) -> Block:
    found = decode_block(encode_block(block))
    assert (found.columns.trace is None) == (block.columns.trace is None)
    if block.columns.trace is not None and found.columns.trace is not None:
        assert found.columns.trace.values == block.columns.trace.values
        assert np.array_equal(found.columns.trace.data, block.columns.trace.data)
    assert list(found.columns.attributes) == ["x"]
    return found
