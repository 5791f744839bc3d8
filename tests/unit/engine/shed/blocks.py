"""Small blocks for the shedder's tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from saffron.engine.events.block import Block, Control
from saffron.engine.events.columns import Column, Columns
from saffron.engine.models.transitions.latency import LatencyFunction
from saffron.engine.models.transitions.model import LatencyModel, TransitionModel
from saffron.engine.models.transitions.trainer import TransitionCounts, train_transitions
from saffron.schema.schema import Kind


def columns(first: int, count: int) -> Columns:
    seq = np.arange(first, first + count, dtype=np.int64)
    kind = Column(Kind.STRING, np.zeros(count, dtype=np.int32), ("A",))
    return Columns(seq, seq * 10, seq * 10, kind, {})


def block(first: int, count: int, counter: int, *controls: Control, claim: int = 3) -> Block:
    """Events first..first+count-1 as `windowing` would send them."""
    return Block(columns(first, count), first, first + count, (first + count) * 10, claim, counter, controls=controls)


def query(position: int, op: str, name: str, version: int = 1) -> Control:
    body = {"op": op, "name": name, "version": version, "text": "PATTERN SEQ(A a)", "slot": 0, "from": "now"}
    return Control(position, "query", body)


def checkpoint(position: int, **queries: int) -> Control:
    entries = [{"name": name, "version": version} for name, version in queries.items()]
    return Control(position, "checkpoint", {"schema": {}, "queries": entries, "models": {}, "windows": {}})


def transition_model(name: str, version: tuple[int, int], query_version: int = 1) -> TransitionModel:
    counts = TransitionCounts(name, query_version, 3, 4, True)
    counts.cells = {(0, 0): 3, (0, 1): 1 + version[1], (1, 2): 1}
    return train_transitions(counts, version, {})


def latency_model(version: tuple[int, int], slope: float = 1000.0, stream: str = "events") -> LatencyModel:
    function = LatencyFunction("linear", 5000.0, slope, 0.0)
    return LatencyModel(stream, version, function, None, 10, {})


def kinds(given: Block) -> list[tuple[int, str]]:
    return [(control.position, control.kind) for control in given.controls]


def body(given: Block, kind: str) -> dict[str, Any]:
    (found,) = (dict(control.body) for control in given.controls if control.kind == kind)
    return found
