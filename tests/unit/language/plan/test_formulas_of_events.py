"""Formulas of one event: their names, and their values over columns beside those of the definition."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

from saffron.engine.events.column_operations import column_values
from saffron.engine.events.computed_columns import with_computed
from saffron.language import compile_query
from saffron.language.syntax.parsing.parser import parse
from saffron.schema.computed import Computed, ComputedRead
from saffron.schema.schema import Kind, Schema
from tests.reference.match.conditions import formula_value
from tests.reference.match.events import events_of
from tests.reference.match.generate import stream
from tests.unit.engine import exact_numbers
from tests.unit.engine.match.cases import KINDS, SCHEMA, columns

FORMULAS = (
    "b[].x * b[].f",
    "abs(b[].x - b[].f) / b[].k",
    "-b[].x % 3",
    "sqrt(b[].f) + min(b[].x, b[].f, 2)",
    "b[].x > 1 AND NOT b[].t",
    "b[].s IN ('a', 'é') OR b[].g = b[].s",
    "b[].x < b[].f",
    "b[].type = 'A' AND b[].ts >= 0",
)
COMPARING = (
    "count({0})",
    "count({0} AND NOT {1})",
    "sum(CASE WHEN {0} THEN b[].x WHEN {1} THEN 2 END)",
    "max(CASE b[].x WHEN b[].y THEN 1 WHEN 9007199254740993 THEN 2 ELSE 3 END)",
    "count(nullif(b[].x, b[].y) IS NULL OR {0})",
)


def name_of(formula: str) -> str:
    """The name under which a plan reads the formula that count runs over."""
    (read,) = compile_query(f"PATTERN B+ b[] WHERE count({formula}) > 0 WITHIN 1 ms", SCHEMA, name="q").computed
    return read.name


def values(events: list[dict[str, Any]], name: str) -> list[float | None]:
    """The values of a formula for each event."""
    data = np.asarray(with_computed(columns(events), [ComputedRead(name, ())]).attributes[name].data, np.float64)
    return [None if math.isnan(one) else one for one in data.tolist()]


@pytest.mark.parametrize("formula", FORMULAS)
def test_values_over_columns_are_those_of_the_definition(formula: str) -> None:
    events = stream(random.Random(formula), 60)
    found = values(events, name_of(formula))
    condition = parse(f"PATTERN B+ b[] WHERE count({formula}) > 0 WITHIN 1 ms").conditions[0]
    expected = [formula_value(condition.left.arguments[0], event) for event in events_of(events)]  # type: ignore[union-attr]
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("formula", FORMULAS)
def test_a_name_holds_its_formula(formula: str) -> None:
    name = name_of(formula)
    one = Computed.of_name(name)
    assert one is not None
    assert (one.name, one.kind) == (name, Kind.FLOAT)
    assert set(one.attributes) <= {*SCHEMA.kinds, "ts", "type"}


def test_infinities_are_null() -> None:
    events = stream(random.Random(1), 2)
    events[0]["f"], events[1]["f"] = 1e200, 2.0
    assert values(events, name_of("b[].f * b[].f")) == [None, 4.0]


@pytest.mark.parametrize("formula", [*FORMULAS, "coalesce(b[].x, b[].f, 0) + b[].k", "b[].s IS NULL OR b[].x = b[].f"])
def test_values_on_whole_columns_are_those_of_each_event(formula: str) -> None:
    draw = random.Random(formula)
    events = stream(draw, 60)
    for event in events:
        event |= {name: None for name in KINDS if draw.random() < 0.2}
    name = name_of(formula)
    one = Computed.of_name(name)
    assert one is not None
    assert values(events, name) == pytest.approx([one.of(event.get) for event in events])


@pytest.mark.parametrize("seed", range(4))
def test_comparisons_over_columns_of_numbers_beyond_float64_are_exact(seed: int) -> None:
    rng, decided = random.Random(seed), 0
    for _ in range(40):
        events = exact_numbers.stream(rng, 12)
        schema = exact_numbers.schema_of(events)
        one, other = (exact_numbers.comparison(rng, ("b[].x", "b[].y")) for _ in range(2))
        text = f"PATTERN ANY+ b[] WHERE {rng.choice(COMPARING).format(one, other)} > 1 WITHIN 1 ms"
        for read in compile_query(text, schema, name="q").computed:
            computed = Computed.of_name(read.name)
            assert computed is not None
            expected = [computed.of(event.get) for event in events]
            if computed.kind is Kind.FLOAT:
                expected = [None if value is None else float(value) for value in expected]
            column = with_computed(exact_numbers.columns_of(events, schema), [read]).attributes[read.name]
            assert column_values(column) == expected, (text, events)
            decided += len(set(expected)) > 1
    assert decided > 10


@pytest.mark.parametrize("kind", [Kind.INT, Kind.NUMBER, Kind.NULL, None])
@pytest.mark.parametrize(
    "value", ["CASE WHEN b[].x > 1 THEN b[].x END", "coalesce(b[].x, b[].f)", "nullif(b[].x, b[].f)"]
)
@pytest.mark.parametrize("function", ["max", "sum", "count", "first"])
def test_a_formula_is_one_of_numbers_whatever_is_known_of_what_it_reads(
    function: str, value: str, kind: Kind | None
) -> None:
    schema = None if kind is None else Schema({"x": kind, "f": kind}, {"B": ("x", "f")}, {})
    plan = compile_query(f"PATTERN B+ b[] WHERE {function}({value}) = 1 WITHIN 1 ms", schema, name="q")
    (one,) = (Computed.of_name(read.name) for read in plan.computed)
    assert one is not None
    assert one.kind.is_number
