"""Formulas of one event: their names, and their values over columns beside those of the definition."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

from saffron.engine.events.computed_columns import with_computed
from saffron.language import compile_query
from saffron.language.syntax.parsing.parser import parse
from saffron.schema.computed import Computed
from saffron.schema.schema import Kind
from tests.reference.match.conditions import formula_value
from tests.reference.match.events import events_of
from tests.reference.match.generate import stream
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


def name_of(formula: str) -> str:
    """The name under which a plan reads the formula that count runs over."""
    (name,) = compile_query(f"PATTERN B+ b[] WHERE count({formula}) > 0 WITHIN 1 ms", SCHEMA, name="q").computed
    return name


def values(events: list[dict[str, Any]], name: str) -> list[float | None]:
    """The values of a formula for each event."""
    data = np.asarray(with_computed(columns(events), [name]).attributes[name].data, np.float64)
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
