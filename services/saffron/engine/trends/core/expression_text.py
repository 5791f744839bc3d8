"""Conditions as Python text for kernels, and the few functions that the text calls.

The text computes in float64, NaN standing for null; a truth value is a plain bool. Kinds are known when the text is
written, so a comparison between kinds is simply written as `False` (`plan.Binary`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from saffron.engine.kernels.functions import called, chosen
from saffron.engine.kernels.jit import jitable
from saffron.language.plan.expressions import Attribute, Binary, Call, Const, Expr, In, Unary
from saffron.schema.functions.built_in import CHOICES
from saffron.schema.schema import Kind

ORDERINGS = ("<", "<=", ">", ">=")
_ARITHMETIC = ("+", "-", "*", "/", "%")
_PYTHON = {"=": "==", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "+": "+", "-": "-", "*": "*"}

Reader = Callable[[Attribute], str]
Codes = Mapping[str, int]


def kind(expr: Expr) -> Kind | None:
    """The kind of value an expression has (FLOAT for all numbers); None for the literal null."""
    match expr:
        case Const(None):
            return None
        case Const(bool()) | Unary("not") | In():
            return Kind.BOOL
        case Const(str()):
            return Kind.STRING
        case Attribute():
            return Kind.FLOAT if expr.kind.is_number else expr.kind
        case Binary():
            return Kind.FLOAT if expr.operator in _ARITHMETIC else Kind.BOOL
        case Call():
            return expr.kind
        case _:
            return Kind.FLOAT


def truth(expr: Expr, codes: Codes, reader: Reader) -> str:
    """The expression as a condition: text of type bool, False where it is null or no truth value."""
    match expr:
        case Unary("not"):
            return f"(not {truth(expr.operand, codes, reader)})"
        case Binary("and" | "or"):
            return f"({truth(expr.left, codes, reader)} {expr.operator} {truth(expr.right, codes, reader)})"
        case Binary() if expr.operator not in _ARITHMETIC:
            return _comparison(expr, codes, reader)
        case In():
            tests = [_comparison(Binary("=", expr.operand, choice), codes, reader) for choice in expr.choices]
            return f"({' or '.join(tests)})"
        case Const(True):
            return "True"
        case Call("is_null"):
            return f"math.isnan({value(expr.arguments[0], codes, reader)})"
        case Attribute(kind=Kind.BOOL) | Call(kind=Kind.BOOL):
            return f"({value(expr, codes, reader)} == 1.0)"
        case _:
            return "False"


def _comparison(expr: Binary, codes: Codes, reader: Reader) -> str:
    """The text of a comparison; "False" between kinds, with null, and for an order of truth values.

    Strings are ordered by their ranks.
    """
    left_kind, right_kind = kind(expr.left), kind(expr.right)
    if left_kind is None or left_kind is not right_kind:
        return "False"
    left, right = value(expr.left, codes, reader), value(expr.right, codes, reader)
    if expr.operator == "!=":
        return f"differ({left}, {right})"
    if expr.operator in ORDERINGS and left_kind is Kind.BOOL:
        return "False"
    if expr.operator in ORDERINGS and left_kind is Kind.STRING:
        left, right = f"rank(ranks, {left})", f"rank(ranks, {right})"
    return f"({left} {_PYTHON[expr.operator]} {right})"


def value(expr: Expr, codes: Codes, reader: Reader) -> str:
    """The expression as a float64 value: text that is NaN where the expression is null."""
    if isinstance(expr, Const):
        return _literal(expr, codes)
    if isinstance(expr, Attribute):
        return reader(expr)
    if isinstance(expr, Call) and expr.function != "is_null":
        return _call(expr, codes, reader)
    if kind(expr) is Kind.BOOL:
        return f"(1.0 if {truth(expr, codes, reader)} else 0.0)"
    if isinstance(expr, Unary):
        return f"(-{value(expr.operand, codes, reader)})"
    if isinstance(expr, Binary):
        left, right = value(expr.left, codes, reader), value(expr.right, codes, reader)
        if expr.operator in ("/", "%"):
            return f"{'quotient' if expr.operator == '/' else 'remainder'}({left}, {right})"
        return f"({left} {_PYTHON[expr.operator]} {right})"
    message = f"a trend condition cannot read {expr}"
    raise ValueError(message)


def _literal(expr: Const, codes: Codes) -> str:
    if expr.value is None:
        return "math.nan"
    if isinstance(expr.value, str):
        return f"{codes[expr.value]}.0"
    number = float(expr.value)
    return repr(number) if math.isfinite(number) else ("math.inf" if number > 0 else "-math.inf")


def _call(expr: Call, codes: Codes, reader: Reader) -> str:
    texts = [value(argument, codes, reader) for argument in expr.arguments]
    if expr.function not in CHOICES:
        return called(expr.function, texts)
    if expr.function == "case":
        texts[:-1:2] = [truth(test, codes, reader) for test in expr.arguments[:-1:2]]
    return chosen(expr.function, texts, truths=False)


# ---- what the text calls, besides `engine.kernels.arithmetic`


@jitable  # type: ignore[misc]
def differ(a: float, b: float) -> bool:
    """a != b, false where either is null."""
    return a < b or a > b


@jitable  # type: ignore[misc]
def rank(ranks: Any, code: float) -> float:
    """The rank of an interned string in the order of strings; null for null."""
    return float(ranks[int(code)]) if code >= 0.0 else math.nan


@jitable  # type: ignore[misc]
def within(value: float) -> float:
    """The nearest finite number; null for null."""
    return min(max(value, -1.7976931348623157e308), 1.7976931348623157e308) if not math.isnan(value) else value
