"""Snapshots of version 0.1.0 in which a tree's vertices were in a list, as its state had one (TIME STRICT)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from saffron.engine.trends.queries import shared
from saffron.engine.trends.queries.reader import Reader
from saffron.engine.trends.queries.shared_graphs import SharedGraphs
from saffron.language.trends.sharing import graph_of
from saffron.language.trends.trend_graphs import scanned_at_first, scanning
from tests.unit.engine.trends.language import Case, blocks, case, operator

SEEDS = 1213, 1774, 2476, 2855, 2897, 3002
"""Of queries that have such a state."""


@pytest.mark.parametrize("seed", SEEDS)
def test_it_is_read_and_goes_on(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    one = case(seed)
    assert isinstance(one, Case)
    assert scanned_at_first(one.plan)
    record = SharedGraphs.record

    def earlier_record(graphs: SharedGraphs, readers: Sequence[Reader]) -> dict[str, Any]:
        found = record(graphs, readers)
        for graph in found["graphs"]:
            del graph["scanned"], graph["literals"]
        return found

    first, *others = blocks(one, [len(one.events) // 2])
    with monkeypatch.context() as earlier:
        earlier.setattr(shared, "graph_of", lambda plan: scanning(graph_of(plan), scanned_at_first(plan)))
        earlier.setattr(SharedGraphs, "record", earlier_record)
        before = operator(one, compiled=False)
        found = lines_of(before, [first])
        state = before.snapshot()
    later, whole = (operator(one, compiled=False) for _ in range(2))
    later.restore(state)
    assert found + lines_of(later, others) == lines_of(whole, [first, *others])


def lines_of(running: Any, stream: Sequence[Any]) -> list[bytes]:
    found = []
    for block in stream:
        entries = running.apply(block)
        assert running.statuses()["q"].state == "active", running.statuses()["q"].reason
        found += entries.json(0, len(entries))
    return found


@pytest.mark.parametrize("name", ["keys", "values", "marks", "totals"])
def test_rows_of_another_form_fail_the_query(name: str) -> None:
    """Kernels would read beyond them."""
    one = case(SEEDS[0])
    assert isinstance(one, Case)
    before, later = (operator(one, compiled=False) for _ in range(2))
    first, *_ = blocks(one, [len(one.events) // 2])
    lines_of(before, [first])
    state = dict(before.snapshot())
    (found,) = (key for key in state if key.endswith((f".{name}", f"/{name}")))
    axis = 0 if name == "values" else 1
    state[found] = np.delete(state[found], 0, axis=axis)
    later.restore(state)
    status = later.statuses()["q"]
    assert status.state == "failed"
    assert f"another version of Saffron: {name} has" in status.reason
