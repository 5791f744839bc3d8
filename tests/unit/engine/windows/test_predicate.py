"""Conditions over columns against their meaning, one event at a time (plan.Binary)."""

from __future__ import annotations

import math
import operator
import random
from typing import Any

import numpy as np
import pytest

from saffron.engine.events.column_operations import column_values
from saffron.engine.events.columns import Columns
from saffron.engine.events.decoding.ndjson import decode_ndjson
from saffron.engine.windows.predicate import holds
from saffron.errors import SchemaError
from saffron.language.plan.expressions import Attribute, Binary, Call, Const, Expr, In, Length, Unary, Which
from saffron.schema.schema import Kind, Schema

SCHEMA = Schema(
    {"n": Kind.INT, "x": Kind.FLOAT, "s": Kind.STRING, "t": Kind.STRING, "up": Kind.BOOL},
    {"A": ("n", "x", "s", "t", "up"), "B": ()},
    {},
)
LINES = (
    '{"type":"A","ts":1,"n":3,"x":0.5,"s":"b","t":"b","up":true}\n{"type":"B","ts":2}\n'
    '{"type":"A","ts":3,"n":0,"x":-2,"s":"a","t":"b","up":false}\n{"type":"A","ts":4,"n":-5,"x":0,"s":"c","t":null}\n'
)


def columns() -> Columns:
    return decode_ndjson(LINES.encode(), SCHEMA)[1]


def attribute(name: str) -> Attribute:
    kinds = {**SCHEMA.kinds, "ts": Kind.INT, "type": Kind.STRING}
    return Attribute(0, Which.SINGLE, name, kinds[name])


COMPARE: dict[str, Any] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def twin(expr: Expr, event: dict[str, Any]) -> Any:
    """The value of an expression for one event; None is null."""
    if isinstance(expr, Const):
        constant: Any = expr.value
        return float(constant) if _number(constant) else constant
    if isinstance(expr, Attribute):
        value = event[expr.name]
        return float(value) if _number(value) else value
    if isinstance(expr, Unary):
        value = twin(expr.operand, event)
        if expr.operator == "not":
            return value is not True
        return -value if _number(value) else None
    if isinstance(expr, In):
        return any(twin(Binary("=", expr.operand, choice), event) for choice in expr.choices)
    if isinstance(expr, Call):
        return _twin_call(expr.function, [twin(argument, event) for argument in expr.arguments])
    assert isinstance(expr, Binary)
    left, right = twin(expr.left, event), twin(expr.right, event)
    if expr.operator == "and":
        return left is True and right is True
    if expr.operator == "or":
        return left is True or right is True
    if expr.operator in COMPARE:
        return _twin_compare(expr.operator, left, right)
    return _twin_arithmetic(expr.operator, left, right)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _twin_compare(name: str, left: Any, right: Any) -> bool:
    if left is None or right is None or type(left) is not type(right):
        return False
    if isinstance(left, bool) and name not in ("=", "!="):
        return False
    return bool(COMPARE[name](left, right))


def _twin_arithmetic(name: str, left: Any, right: Any) -> float | None:
    if not (_number(left) and _number(right)):
        return None
    if name in "/%" and right == 0:
        return None
    if name == "%":
        return math.fmod(left, right)
    return float({"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}[name](left, right))


def _twin_call(name: str, values: list[Any]) -> float | None:
    if not all(map(_number, values)):
        return None
    if name == "abs":
        return abs(float(values[0]))
    if name == "sqrt":
        return math.sqrt(values[0]) if values[0] >= 0 else None
    return float(min(values) if name == "least" else max(values))


def random_expr(rng: random.Random, depth: int) -> Expr:
    if depth == 0 or rng.random() < 0.2:
        if rng.random() < 0.6:
            return attribute(rng.choice(["n", "x", "s", "t", "up", "ts", "type"]))
        return Const(rng.choice([0, 1, -5, 0.5, "a", "b", "A", True, False, None]))
    kind = rng.randrange(6)
    if kind == 0:
        return Unary(rng.choice(["-", "not"]), random_expr(rng, depth - 1))
    if kind == 1:
        return In(random_expr(rng, depth - 1), (Const(1), Const(3)) if rng.random() < 0.5 else (Const("a"), Const("b")))
    if kind == 2:
        name = rng.choice(["abs", "sqrt", "least", "greatest"])
        count = 1 if name in ("abs", "sqrt") else rng.randrange(1, 4)
        return Call(name, tuple(random_expr(rng, depth - 1) for _ in range(count)))
    sign = rng.choice(["+", "-", "*", "/", "%", "=", "!=", "<", "<=", ">", ">=", "and", "or"])
    return Binary(sign, random_expr(rng, depth - 1), random_expr(rng, depth - 1))


def test_random_conditions_mean_what_the_twin_says() -> None:
    rng = random.Random(3)
    events = columns()
    rows: list[dict[str, Any]] = [
        {"ts": ts, "type": kind} for ts, kind in zip(events.ts.tolist(), column_values(events.type), strict=True)
    ]
    for name, column in events.attributes.items():
        for row, value in zip(rows, column_values(column), strict=True):
            row[name] = value
    for _ in range(3000):
        expr = random_expr(rng, 3)
        assert holds(expr, events).tolist() == [twin(expr, row) is True for row in rows], expr


def test_no_events() -> None:
    expr = Binary("=", attribute("s"), Const("a"))
    empty = decode_ndjson(b"", SCHEMA)[1]
    assert holds(expr, empty).dtype == np.bool_
    assert len(holds(expr, empty)) == 0


def test_what_a_condition_on_one_event_cannot_read() -> None:
    with pytest.raises(SchemaError, match="cannot read several"):
        holds(Binary(">", Length(0), Const(1)), columns())
    with pytest.raises(SchemaError, match="no attribute 'gone'"):
        holds(Attribute(0, Which.SINGLE, "gone", Kind.INT), columns())
