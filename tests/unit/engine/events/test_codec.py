"""Blocks as bytes: everything comes back, and what is torn or foreign says so."""

from __future__ import annotations

import contextlib
import math
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from saffron.engine.events.block import Block, Control
from saffron.engine.events.codec import decode_block, encode_block, open_block
from saffron.engine.events.column_operations import (
    column_values,
    concat_columns,
    prune_columns,
    slice_columns,
    take_columns,
)
from saffron.engine.events.columns import Column, Columns
from saffron.engine.events.packed import PackedColumns
from saffron.errors import LogError
from saffron.schema.schema import NULL_INT, Kind


def columns(n: int, first: int = 0, *, dropped: bool = False, seed: int = 0) -> Columns:
    rng = random.Random(seed)
    words = tuple(f"wörd{seed}{i}" for i in range(5))
    return Columns(
        seq=np.arange(first, first + n, dtype=np.int64),
        ts=np.sort(np.array([rng.randrange(100) for _ in range(n)], dtype=np.int64)),
        time=np.array([rng.randrange(2**50) for _ in range(n)], dtype=np.int64),
        type=Column(Kind.STRING, np.array([rng.randrange(2) for _ in range(n)], dtype=np.int32), ("A", "B")),
        attributes={
            "seq": Column(Kind.INT, np.array([rng.choice([NULL_INT, -1, 2**62]) for _ in range(n)], dtype=np.int64)),
            "$seq": Column(Kind.FLOAT, np.array([rng.choice([math.nan, -0.0, math.inf, 0.1]) for _ in range(n)])),
            "$dropped": Column(Kind.BOOL, np.array([rng.choice([-1, 0, 1]) for _ in range(n)], dtype=np.int8)),
            "$ts": Column(Kind.STRING, np.array([rng.randrange(-1, 5) for _ in range(n)], dtype=np.int32), words),
        },
        dropped=np.array([rng.randrange(2**64) for _ in range(n)], dtype=np.uint64) if dropped else None,
    )


def block(events: Columns, **parts: Any) -> Block:
    n = len(events)
    first = int(events.seq[0]) if n else 7
    return Block(events, first, first + n, watermark=-(2**62), **parts)


def assert_same(left: Columns, right: Columns) -> None:
    assert left.seq.tolist() == right.seq.tolist()
    assert left.ts.tolist() == right.ts.tolist()
    assert left.time.tolist() == right.time.tolist()
    assert (left.dropped is None) == (right.dropped is None)
    if left.dropped is not None and right.dropped is not None:
        assert left.dropped.tolist() == right.dropped.tolist()
    assert list(left.attributes) == list(right.attributes)
    pairs = [(left.type, right.type)] + [(left.attributes[name], right.attributes[name]) for name in left.attributes]
    for ours, theirs in pairs:
        assert ours.kind is theirs.kind
        assert ours.data.dtype == theirs.data.dtype
        assert list(map(repr, column_values(ours))) == list(map(repr, column_values(theirs)))


@pytest.mark.parametrize("n", [0, 1, 500])
@pytest.mark.parametrize("dropped", [False, True])
def test_keys_of_features_travel_with_the_vectors_behind_them(n: int, dropped: bool) -> None:
    rng = random.Random(n)
    keys = np.array([rng.randrange(2**63) for _ in range(n)], dtype=np.uint64)
    original = block(replace(columns(n, 7, dropped=dropped), key=keys), features={2**63 - 1: (0, 3), 5: ()})
    found = decode_block(encode_block(original))
    assert_same(found.columns, original.columns)
    assert found.columns.key is not None
    assert found.columns.key.tolist() == keys.tolist()
    assert found.features == original.features
    assert decode_block(encode_block(block(columns(n)))).columns.key is None
    parts = [slice_columns(original.columns, 0, n // 2), replace(slice_columns(original.columns, n // 2, n), key=None)]
    together = concat_columns(parts).key
    assert together is not None
    assert together.tolist() == [*keys[: n // 2].tolist(), *[0] * (n - n // 2)]


@pytest.mark.parametrize("n", [0, 1, 500])
@pytest.mark.parametrize("dropped", [False, True])
def test_round_trip(n: int, dropped: bool) -> None:
    original = block(
        columns(n, 7, dropped=dropped),
        claim=3,
        counter=11,
        end=True,
        controls=(Control(7, "query", {"op": "remove", "name": "q"}),),
        opened={"q": (7, 8)},
        input={"released": [1, 2], "lowest_held": None},
    )
    message = encode_block(original)
    found = decode_block(message)
    assert replace(found, columns=original.columns) == original
    assert_same(found.columns, original.columns)
    assert found.columns.ts.flags.writeable


def test_events_dropped_whole() -> None:
    events = take_columns(columns(10, 7), np.array([1, 4, 5]))
    original = Block(events, 7, 17, 0)
    found = decode_block(encode_block(original))
    assert found.columns.seq.tolist() == [8, 11, 12]
    assert (found.first_seq, found.next_seq) == (7, 17)


def test_any_arrow_reader_opens_it() -> None:
    with pa.ipc.open_stream(encode_block(block(columns(3)))) as reader:
        table = reader.read_all()
    assert table.num_rows == 3
    table.validate(full=True)


def test_torn_and_foreign_messages() -> None:
    message = encode_block(block(columns(100, dropped=True)))
    for length in (0, 1, 8, 100, len(message) // 2):
        with pytest.raises(LogError, match="no whole block"):
            decode_block(message[:length])
    with pytest.raises(LogError, match="no whole block"):
        decode_block(b"{}")
    sink = pa.BufferOutputStream()
    batch = pa.RecordBatch.from_pydict({"a": [1]})
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    with pytest.raises(LogError, match="without a header"):
        decode_block(sink.getvalue().to_pybytes())


def test_mutated_messages_never_surprise() -> None:
    rng = random.Random(5)
    message = encode_block(block(columns(20)))
    for _ in range(300):
        data = bytearray(message)
        for _ in range(rng.randrange(1, 5)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        with contextlib.suppress(LogError):
            decode_block(bytes(data))
        with contextlib.suppress(LogError):
            encode_block(open_block(bytes(data)))


@pytest.mark.parametrize("n", [0, 1, 500])
def test_a_block_passed_on_unread_has_the_bytes_of_one_that_was_read(n: int) -> None:
    original = block(columns(n, 7), counter=11, controls=(Control(7, "query", {"op": "remove", "name": "q"}),))
    message = encode_block(original)
    changes: dict[str, Any] = {"claim": 300, "controls": (), "input": {"windows": 10**12}, "counter": 5, "end": True}
    passed = replace(open_block(message), **changes)
    assert isinstance(passed.columns, PackedColumns)
    assert len(passed.columns) == n
    assert not any(getattr(passed.columns, name) is not None for name in ("dropped", "key", "trace", "latest"))
    assert encode_block(passed) == encode_block(replace(original, **changes))
    assert encode_block(replace(open_block(message), **changes)) == encode_block(passed)
    again = replace(open_block(encode_block(passed)), claim=2)
    assert encode_block(again) == encode_block(replace(original, **{**changes, "claim": 2}))


@pytest.mark.parametrize("n", [0, 1, 500])
def test_columns_are_decoded_when_one_is_asked_for(n: int) -> None:
    original = block(columns(n, 7))
    for name in ("seq", "ts", "time", "type", "attributes"):
        opened = open_block(encode_block(original)).columns
        getattr(opened, name)
        assert type(opened) is Columns
        assert_same(opened, original.columns)
    mask = np.arange(n, dtype=np.uint64)
    masked = replace(open_block(encode_block(original)).columns, dropped=mask)
    assert_same(masked, replace(original.columns, dropped=mask))
    assert encode_block(replace(original, columns=masked)) == encode_block(
        replace(original, columns=replace(original.columns, dropped=mask))
    )
    with pytest.raises(AttributeError):
        _ = open_block(encode_block(original)).columns.nothing  # type: ignore[attr-defined]


def test_columns_that_not_every_block_has_are_decoded_at_once() -> None:
    events = columns(4, 7)
    other: list[Columns] = [
        replace(events, latest=events.ts + 1),
        replace(events, dropped=np.ones(4, np.uint64)),
        replace(events, key=np.ones(4, np.uint64)),
        replace(events, trace=events.type),
    ]
    for one in other:
        found = open_block(encode_block(block(one))).columns
        assert type(found) is Columns
        assert (found.latest is None, found.dropped is None, found.key is None, found.trace is None) == (
            one.latest is None,
            one.dropped is None,
            one.key is None,
            one.trace is None,
        )
    dropped_whole = Block(take_columns(columns(10, 7), np.array([1, 4, 5])), 7, 17, 0)
    assert open_block(encode_block(dropped_whole)).columns.seq.tolist() == [8, 11, 12]


def test_torn_columns_are_told_when_they_are_asked_for() -> None:
    message = bytearray(encode_block(block(columns(20))))
    at = message.rindex(b"B\0")  # the texts of `type`
    message[at - 1 : at + 1] = b"\xff\xff"
    passed = open_block(bytes(message))
    assert isinstance(passed.columns, PackedColumns)
    with pytest.raises(LogError, match="no whole block"):
        _ = passed.columns.ts
    for length in (0, 1, 8, 100, len(message) // 2):
        with pytest.raises(LogError, match="no whole block"):
            open_block(bytes(message[:length]))


def test_unknown_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("saffron.engine.events.codec.VERSION", 9)
    message = encode_block(block(columns(1)))
    monkeypatch.undo()
    with pytest.raises(LogError, match="format 9, and this version of Saffron reads 1: upgrade"):
        decode_block(message)


def test_concat_slice_prune() -> None:
    parts = [columns(5, 0, seed=1), columns(4, 5, seed=2, dropped=True), columns(3, 9, seed=1)]
    whole = concat_columns(parts)
    assert_same(replace(slice_columns(whole, 0, 5), dropped=None), parts[0])
    assert_same(slice_columns(whole, 5, 9), parts[1])
    few = prune_columns(slice_columns(whole, 5, 7))
    assert_same(few, slice_columns(whole, 5, 7))
    assert len(few.attributes["$ts"].values) <= 2
    assert concat_columns(parts[:1]) is parts[0]
