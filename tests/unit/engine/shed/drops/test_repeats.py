"""Whether events of one type and key come again within a window."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from saffron.engine.events.column_operations import slice_columns
from saffron.engine.events.columns import Column, Columns
from saffron.engine.shed.drops.repeats import Repeats
from saffron.language import compile_query
from saffron.language.plan.match_plan import MatchPlan
from saffron.schema.schema import Kind, Schema

SCHEMA = Schema({"id": Kind.INT}, {"A": ("id",), "B": ("id",)}, {}, given=True)


def stream(keys: NDArray[np.int64]) -> Columns:
    """A and B in turn, with these keys."""
    seq = np.arange(len(keys), dtype=np.int64)
    types = Column(Kind.STRING, (seq % 2).astype(np.int32), ("A", "B"))
    return Columns(seq, seq, seq, types, {"id": Column(Kind.INT, keys)})


def repeats(keys: NDArray[np.int64], where: str = "[id]") -> float:
    plan = compile_query(f"PATTERN SEQ(A a, B b) WHERE skip-till-next-match {{ {where} }} WITHIN 500 EVENTS", SCHEMA)
    assert isinstance(plan, MatchPlan)
    cut, whole = Repeats(plan), Repeats(plan)
    columns = stream(keys)
    whole.saw(columns, np.ones(len(keys), np.bool_))
    for begin in range(0, len(keys), 100):
        cut.saw(slice_columns(columns, begin, begin + 100), np.ones(100, np.bool_))
    assert cut.share == whole.share, "however the stream is cut"
    return whole.share


def test_one_event_of_a_type_and_key_has_no_other_in_its_stead() -> None:
    assert repeats(np.arange(8000) // 2) == 0.0


def test_few_keys_come_again() -> None:
    assert repeats(np.random.default_rng(0).integers(0, 40, 8000)) > 0.9


def test_what_comes_again_behind_the_window_does_not_count() -> None:
    assert repeats(np.arange(8000) // 2 % 1000) == 0.0


@pytest.mark.parametrize("where", ["b.id > a.id", "b.id = 1"])
def test_without_a_key_any_event_may_be_taken(where: str) -> None:
    assert repeats(np.arange(4000), where) == 1.0
