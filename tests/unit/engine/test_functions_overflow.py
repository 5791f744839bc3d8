"""A value of functions that is beyond every float is null, wherever it is computed."""

from __future__ import annotations

import json
import random

import pytest

from saffron.engine.events.column_operations import column_values
from saffron.engine.events.computed_columns import ComputedColumns
from saffron.engine.events.decoding.ndjson import decode_ndjson
from saffron.schema.computed import Applied, Computed, ComputedRead, Read
from saffron.schema.schema import Kind
from tests.unit.engine.function_results import WITHIN, results


def test_a_value_beyond_every_float_does_not_depend_on_the_other_events_of_its_block() -> None:
    """Of a formula on whole columns, and of the same where an integer beyond 2^53 has it computed value by value."""
    one = Computed(Applied("coalesce", (Applied("degrees", (Read("x"),)), Read("n"))), Kind.NUMBER)
    for others in ([], [{"type": "A", "ts": 2, "x": 1.5, "n": 2**53 + 1}]):
        events = [{"type": "A", "ts": 1, "x": 1e308, "n": 2}, *others]
        _, columns = decode_ndjson("\n".join(map(json.dumps, events)).encode())
        found = ComputedColumns(0).added(columns, [ComputedRead(one.name, ())]).attributes[one.name]
        assert column_values(found) == [one.of(event.get) for event in events]


def beyond(rng: random.Random, leaves: list[str], depth: int) -> str:
    """A random value of functions and operators, in which numbers beyond every float arise."""
    if depth == 0:
        return rng.choice(leaves)
    one, other, third = (beyond(rng, leaves, depth - 1) for _ in range(3))
    form = rng.choice((
        "degrees({0})", "degrees({0})", "coalesce(degrees({0}), {1})", "abs({0})", "floor({0})", "round({0}, 1)",
        "sqrt({0})", "sign({0})", "power({0}, 2)",
        "least({0}, {1}, {2})", "greatest({0}, {1}, {2})", "coalesce({0}, {1})", "nullif({0}, {1})",
        "CASE WHEN {0} > {1} THEN {2} WHEN {1} IS NULL THEN {0} END", "({0} * {1})", "({0} + {1})", "(-{0})",
    ))  # fmt: skip
    return form.format(one, other, third)


@pytest.mark.parametrize("seed", range(40))
def test_a_value_beyond_every_float_is_null_in_every_condition_and_result(seed: int) -> None:
    """Of one event on columns, of two in the kernels of matches and trends, and in Python for RETURN."""
    rng = random.Random(seed)
    values: list[dict[str, float]] = [{"x": rng.choice([1e308, -1e308, 1.7e308, 10])} for _ in range(2)]
    events = [{"type": "A", "ts": ts, "n": 2, **one} for ts, one in enumerate(values, 1)]
    for _ in range(4):
        leaves = ["a.x", "b.x", "10.5"][:: rng.choice([1, 1, 2])]
        left, right = beyond(rng, leaves, rng.randrange(1, 4)), rng.choice(leaves)
        condition = f"{left} {rng.choice(['<=', '>', '='])} {right}"
        if rng.random() < 0.3:
            condition = f"{left} IS NULL"
        (returned,) = results(
            f"PATTERN SEQ(A a, A b){WITHIN}RETURN CASE WHEN {condition} THEN 1 ELSE 0 END AS v", events, []
        )
        matches = results(f"PATTERN SEQ(A a, A b) WHERE {condition}{WITHIN}", events, [])
        assert len(matches) == returned["return"]["v"], (condition, values)
        if "a.x" in condition and "b.x" in condition:
            edge = condition.replace("b.x", "NEXT(a).x")
            (trends,) = results(f"PATTERN A+ a WHERE {edge}{WITHIN}RETURN COUNT(*)", events, [])
            assert trends["return"]["COUNT(*)"] == 2 + returned["return"]["v"], (edge, values)


@pytest.mark.parametrize("value", ["a.x * a.x * a.x", "-a.x * a.x * a.x"])
def test_a_number_beyond_every_float_is_no_time_and_no_text(value: str) -> None:
    units = ", ".join(f"{name}({value}) AS {name}" for name in ("hour", "minute", "day_of_week"))
    query = f"PATTERN A a{WITHIN}RETURN {units}, CAST({value} AS string) AS words"
    (found,) = results(query, [{"type": "A", "ts": 1, "x": 1e150}], [])
    assert found["return"] == {"hour": None, "minute": None, "day_of_week": None, "words": None}
