"""Records, queries and restarts for the tests of the windowing operator."""

from __future__ import annotations

from typing import Any

import numpy as np

from saffron.engine.events.block import Block
from saffron.engine.events.raw import RawBatch, batch_of_values
from saffron.engine.windows import WindowingOperator
from saffron.records.query import QueryRecord
from saffron.schema.schema import Kind, Schema

SCHEMA = Schema({"x": Kind.INT, "s": Kind.STRING}, {"A": ("x", "s"), "B": ("x",)}, {"A": frozenset(), "B": frozenset()})
TEXT = "PATTERN SEQ(A a, B b) WITHIN 1 hour"
OPENING = "PATTERN SEQ(A a, B b) WITHIN 10 ms OPEN ON A o WHERE o.x > 1"


def batch(*values: str, first: int = 0, times: list[int] | None = None) -> RawBatch:
    offsets = np.arange(first, first + len(values), dtype=np.int64)
    stamps = None if times is None else np.array(times, dtype=np.int64)
    return batch_of_values([value.encode() for value in values], offsets, stamps)


def events(*ts: int, first: int = 0, kind: str = "A") -> RawBatch:
    return batch(*(f'{{"type":"{kind}","ts":{time},"x":{time}}}' for time in ts), first=first)


def controls(blocks: list[Block]) -> list[tuple[int, str, Any]]:
    return [
        (control.position, control.kind, control.body.get("op"))
        for block in blocks
        for control in block.controls
        if control.kind != "checkpoint"
    ]


def add(version: int = 1, text: str = TEXT, op: str = "add") -> QueryRecord:
    return QueryRecord("q", version, op, text)


def states(operator: WindowingOperator) -> list[tuple[str, int, str, int]]:
    return [(note.name, note.version, note.state, note.position) for note in operator.take_notices()]


def resumed(blocks: list[Block], **options: Any) -> WindowingOperator:
    operator = WindowingOperator(0, "events", **options)
    for block in blocks:
        operator.resume(block)
    return operator
