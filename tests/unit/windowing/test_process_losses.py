"""Digests name values that were lost for as long as the process lives, also after partitions were shared out again."""

from __future__ import annotations

from typing import Any

from saffron.runtime.log import TopicPartition
from saffron.windowing.process_losses import ProcessLosses

WHERE = TopicPartition("saffron.shop", 0)
NOTHING: dict[str, Any] = {"mistyped": None, "left_out": None, "in_seconds": None, "late_by_silence": None}


class Operator:
    stream = "shop"


def operator() -> Any:
    return Operator()


def numbers(mistyped: dict[str, int], left_out: int = 0) -> dict[str, Any]:
    return {"mistyped_attributes": mistyped, "left_out": left_out, "in_seconds": 0, "late_by_silence": 0}


def test_a_new_operator_of_a_partition_begins_where_the_one_before_ended() -> None:
    losses = ProcessLosses()
    first, second = operator(), operator()
    assert losses.of(WHERE, first, numbers({})) == NOTHING
    assert losses.of(WHERE, first, numbers({"x": 2}, 1)) == {**NOTHING, "mistyped": {"x": 2}, "left_out": 1}
    assert losses.of(WHERE, first, numbers({"x": 3}, 1)) == {**NOTHING, "mistyped": {"x": 3}, "left_out": 1}
    assert losses.of(WHERE, second, numbers({})) == {**NOTHING, "mistyped": {"x": 3}, "left_out": 1}
    found = losses.of(WHERE, second, numbers({"x": 1, "y": 9}))
    assert found == {**NOTHING, "mistyped": {"y": 9, "x": 4}, "left_out": 1}
    assert list(found["mistyped"]) == ["y", "x"]


def test_each_partition_has_its_own() -> None:
    losses = ProcessLosses()
    losses.of(WHERE, operator(), numbers({"x": 2}))
    assert losses.of(TopicPartition("saffron.shop", 1), operator(), numbers({})) == NOTHING


def test_a_stream_that_was_made_anew_has_lost_nothing() -> None:
    losses = ProcessLosses()
    losses.of(WHERE, operator(), numbers({"x": 2}))
    losses.forget("shop")
    assert losses.of(WHERE, operator(), numbers({})) == NOTHING
