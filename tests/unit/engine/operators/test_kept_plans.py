"""Plans and programs are kept for the next partition, and never given to another query, schema or aggregate."""

from __future__ import annotations

from dataclasses import replace

import pytest

from saffron.engine.match.planning.engine import engine_of
from saffron.engine.match.runs.program import Program, compile_program
from saffron.engine.operators import aggregates
from saffron.engine.operators.standing import compile_text
from saffron.errors import QueryError
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pairs import exact_match
from saffron.schema.schema import Kind, Schema

_SCHEMA = Schema({"x": Kind.LONG, "y": Kind.FLOAT}, {"A": ("x", "y")}, {})
_TEXT = "PATTERN SEQ(A a, A b) WHERE a.x = 1 WITHIN 1 s"


def _plan(text: str = _TEXT, schema: Schema = _SCHEMA) -> MatchPlan:
    plan = compile_text(text, schema, "q")
    assert isinstance(plan, MatchPlan)
    return plan


def _program(plan: MatchPlan) -> Program:
    return compile_program(exact_match(plan), engine_of(plan, _SCHEMA), compiled=False)


def test_a_partition_gets_the_plan_and_the_program_of_another_one() -> None:
    alike = replace(_SCHEMA, kinds=dict(_SCHEMA.kinds))
    assert _plan() is _plan(schema=alike)
    assert _program(_plan()) is _program(_plan(schema=alike))


def test_a_schema_of_another_order_has_a_plan_of_its_own() -> None:
    turned = replace(_SCHEMA, kinds=dict(reversed(list(_SCHEMA.kinds.items()))))
    assert turned == _SCHEMA
    assert _plan(schema=turned) is not _plan()
    turned = replace(_SCHEMA, types={"A": ("y", "x")})
    assert _plan(schema=turned) is not _plan()


def test_another_literal_of_the_same_value_is_another_query() -> None:
    """It may be written in a result as it stands in the text."""
    other = _plan(_TEXT.replace("= 1", "= 1.0"))
    assert other != _plan()
    assert _program(other) is not _program(_plan())


def test_an_aggregate_that_is_registered_anew_is_the_one_that_is_called() -> None:
    text = "PATTERN SEQ(A+ a[], A b) WHERE own(a[..i-1].y) < 5 WITHIN 1 s"
    aggregates.register("own", lambda acc, x: acc + x)
    try:
        before = _plan(text)
        program = _program(before)
        aggregates.register("own", lambda acc, x: acc * x)
        assert _program(before) is not program
        assert _plan(text) is not before
    finally:
        aggregates.forget("own")
    with pytest.raises(QueryError, match="own"):
        _plan(text)
