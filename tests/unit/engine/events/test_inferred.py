"""The schema of first events, beside its definition: what the scanner need not show is never missed."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saffron.engine.events.decoding import infer
from saffron.engine.events.decoding.infer import infer_schema
from saffron.engine.events.raw import batch_of_lines, batch_of_values
from saffron.schema.schema import Schema
from tests.reference.inferred import inferred
from tests.unit.engine.events.test_nesting import objects, text_of

BASE: dict[str, object] = {"type": "A", "ts": 5, "x": 1, "s": "a"}
SURPRISES = [
    b"",
    b"[]",
    b'{"type":"A"}',
    b'{"type":"A","ts":[5,5]}',
    b'{"type":"A","ts" : [5,9]}',
    b'{"type":"A","ts":"soon","late":1}',
    b'{"type":"$watermark","ts":5}',
    b'{"type":"B","ts":5,"x":null}',
    b'{"type":"A","ts":5,"new":null}',
    b'{"type":"A","ts":5,"deep":{"new":null}}',
    b'{"type":"A","ts":5,"x":1.5}',
    b'{"type":"A","ts":5,"x":9007199254740993}',
    b'{"type":"A","ts":5,"x":1e999}',
    b'{"type":"A","ts":5,"x":"text"}',
    b'{"type":"A","ts":5,"x":"NaN"}',
    b'{"type":"A","ts":5,"s":true}',
    b'{"type":"A","ts":5,"x":[1]}',
    b'{"type":"A","ts":5,"x":1,"x":"a"}',
    b'{"type":"A","ts":5,"a":{"b":1}}',
]


def same(found: Schema, wanted: Schema) -> None:
    assert found == wanted
    assert list(found.kinds) == list(wanted.kinds)
    assert list(found.types) == list(wanted.types)


@pytest.mark.parametrize("count", [1, 3, 40])
@pytest.mark.parametrize("surprise", SURPRISES, ids=lambda line: line.decode()[:60])
def test_what_comes_late_is_seen(surprise: bytes, count: int) -> None:
    lines = [json.dumps(BASE).encode()] * 1500
    for at in range(count):
        lines[1499 - 31 * at] = surprise
    same(infer_schema([batch_of_values(lines)]), inferred(lines))


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.one_of(objects, st.just([("x", 1)])), min_size=1, max_size=40),
    st.integers(1, 3),
    st.randoms(use_true_random=False),
)
def test_it_is_that_of_the_definition(events: list[list[tuple[str, object]]], first: int, draw: random.Random) -> None:
    texts = [text_of((("type", draw.choice("AB")), ("ts", 5), *event), draw).encode() for event in events]
    cut = draw.randrange(len(texts) + 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(infer, "_FIRST", first)
        batches = [batch_of_values(part) for part in (texts[:cut], texts[cut:]) if part]
        same(infer_schema(batches), inferred(texts))
        limit = draw.randrange(1, len(texts) + 1)
        same(infer_schema(batches, limit), inferred(texts[:limit]))


def test_records_between_others_in_the_buffer_say_nothing() -> None:
    lines = b"\n".join(
        [json.dumps(BASE).encode()] * 300 + [b'{"type":"B","ts":5,"y":null}'] + [b'{"type":"A","ts":5}'] * 9
    )
    batch = batch_of_lines(lines)
    assert list(infer_schema([batch]).types) == ["A", "B"]
    assert list(infer_schema([batch.part(0, 300), batch.part(301, 310)]).types) == ["A"]
