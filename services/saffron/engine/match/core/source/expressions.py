"""Conditions as Python text for kernels, built from checked plan parts only: numbers by repr, names by position.

Numbers and strings are in the kernel's array of constants, so that queries that differ in nothing else share machine
code. Only the divisor of a remainder is a literal, as LLVM divides faster by a known number.

The text has no short cuts (`&` for and), so that eight runs can evaluate it at once (`lanes`). Nulls are sentinels
(`schema.Kind`). Every comparison with null is false, and so is one between kinds (`plan.Binary`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from saffron.engine.kernels.functions import called, chosen
from saffron.language.plan.expressions import (
    Aggregate,
    Attribute,
    Binary,
    Call,
    Const,
    Expr,
    GroupValue,
    In,
    Length,
    TrendValue,
    Unary,
)
from saffron.language.plan.pairs import NEAREST, REST
from saffron.schema.functions.built_in import CHOICES
from saffron.schema.schema import NULL_INT, Kind

ARITHMETIC = ("+", "-", "*", "/", "%")


@dataclass(frozen=True)
class Term:
    """Text of a value. `kind` None: the literal null. `nullable`: may hold its kind's sentinel.

    `truth`: the text is a bool (never null) rather than an int8-like 0, 1, -1. `wide`: it is eight lanes.
    `mean`: sum and number, if the value is their quotient.
    """

    text: str
    kind: Kind | None
    nullable: bool = True
    truth: bool = False
    wide: bool = False
    mean: str = ""


class Reader(Protocol):
    """A source of the values that an expression refers to, as text of a kernel."""

    def attribute(self, leaf: Attribute) -> Term: ...

    def aggregate(self, leaf: Aggregate) -> Term: ...

    def length(self, leaf: Length) -> Term: ...


Constants = Callable[[str | int | float], int]
"""constant -> its place in the kernel's array of constants"""


class Writer:
    """Writes expressions against one reader. `narrow`: it met a wide term where only a scalar can be computed with."""

    def __init__(self, reader: Reader, constants: Constants) -> None:
        self._reader = reader
        self._constants = constants
        self.narrow = False

    def condition(self, expr: Expr) -> str:
        """The expression as a bool or mask: false where it is null or no truth value."""
        return self._truth(self.term(expr))

    def term(self, expr: Expr) -> Term:
        """The expression as text of its value. ValueError for aggregates over trends, which no match has."""
        match expr:
            case Const():
                return self._constant(expr)
            case Attribute():
                return self._reader.attribute(expr)
            case Aggregate():
                return self._reader.aggregate(expr)
            case Length():
                return self._reader.length(expr)
            case Unary(operator="not"):
                operand = self.term(expr.operand)
                return _condition(f"{'flip' if operand.wide else 'not '}({self._truth(operand)})", operand)
            case Unary():
                operand = self.term(expr.operand)
                return Term(f"(-1.0 * {self._number(operand)})", Kind.FLOAT, wide=operand.wide)
            case Binary():
                return self._binary(expr)
            case Call():
                return self._call(expr)
            case In():
                return self._membership(expr)
            case TrendValue() | GroupValue():
                message = "no match has aggregates over trends"
                raise ValueError(message)

    def _constant(self, expr: Const) -> Term:
        """The term of a literal. Numbers and strings get a place in the array of constants; null and booleans get none.

        An integer beyond int64 becomes a float64.
        """
        value = expr.value
        if value is None:
            return Term("math.nan", None)
        if isinstance(value, bool):
            return Term(str(value), Kind.BOOL, False, True)
        if isinstance(value, str):
            return Term(f"constants[{self._constants(value)}]", Kind.STRING, False)
        if isinstance(value, int) and -(2**63) < value < 2**63:
            return Term(f"constants[{self._constants(value)}]", Kind.INT, False)
        return Term(f"real_at(constants, {self._constants(float(value))})", Kind.FLOAT, False)

    def _truth(self, term: Term) -> str:
        if term.truth:
            return f"({term.text})"
        return f"({term.text} == 1)" if term.kind is Kind.BOOL else "False"

    def _number(self, term: Term) -> str:
        """The term as float64, NaN where it is null."""
        if term.kind is Kind.FLOAT:
            return term.text
        if term.kind is not None and term.kind.is_whole:
            function = "real8" if term.wide else "real" if term.nullable else "float"
            return f"{function}({term.text})"
        return "math.nan"

    def _binary(self, expr: Binary) -> Term:
        """The term of an operation on two operands. A remainder of eight lanes sets `narrow`."""
        left, right = self.term(expr.left), self.term(expr.right)
        if expr.operator in ("and", "or"):
            sign = "&" if expr.operator == "and" else "|"
            return _condition(f"{self._truth(left)} {sign} {self._truth(right)}", left, right)
        if expr.operator not in ARITHMETIC:
            return _condition(self._comparison(expr.operator, left, right), left, right)
        wide = left.wide or right.wide
        a, b = self._number(left), self._number(right)
        if expr.operator == "/":
            return Term(f"{'quotient8' if wide else 'quotient'}({a}, {b})", Kind.FLOAT, wide=wide)
        if expr.operator == "%":
            self.narrow |= wide
            return Term(f"remainder({a}, {_divisor(expr.right) or b})", Kind.FLOAT, wide=wide)
        return Term(f"({a} {expr.operator} {b})", Kind.FLOAT, wide=wide)

    def _comparison(self, operator: str, left: Term, right: Term) -> str:
        """The text of a comparison. It is false where a side is null, and "False" where the kinds cannot be compared.

        The order of strings is that of their ranks; comparing ranks for eight lanes sets `narrow`.
        """
        if left.kind is None or right.kind is None:
            return "False"
        if left.kind.is_number and right.kind.is_number:
            if left.kind.is_whole and right.kind.is_whole:
                return _guarded(operator, left, right, str(NULL_INT))
            if (text := self._beside_mean(operator, left, right)) is not None:
                return text
            a, b = self._number(left), self._number(right)
            # NaN makes every comparison false but !=.
            return f"({a} < {b}) | ({a} > {b})" if operator == "!=" else f"{a} {_python(operator)} {b}"
        if left.kind is not right.kind:
            return "False"
        if left.kind is Kind.BOOL:
            if operator not in ("=", "!="):
                return "False"
            return _guarded(operator, self._as_integer(left), self._as_integer(right), "-1")
        if operator in ("=", "!="):
            return _guarded(operator, left, right, "-1")
        self.narrow |= left.wide or right.wide
        ranked = [Term(f"ranks[{side.text}]", Kind.INT, side.nullable) for side in (left, right)]
        return _guarded(operator, ranked[0], ranked[1], "-1")

    def _beside_mean(self, operator: str, left: Term, right: Term) -> str | None:
        """The text of comparing a value with a mean for eight runs, by a product; None for other terms."""
        if not (left.wide or right.wide) or operator not in ("<", ">") or bool(left.mean) == bool(right.mean):
            return None
        value, mean = (left, right) if right.mean else (right, left)
        function = "above8" if (operator == ">") is (mean is right) else "below8"
        return f"{function}({self._number(value)}, {mean.mean})"

    def _as_integer(self, term: Term) -> Term:
        self.narrow |= term.truth and term.wide
        return Term(f"(1 if {term.text} else 0)", Kind.BOOL, False) if term.truth else term

    def _call(self, expr: Call) -> Term:
        """The term of a function's value. An argument of eight lanes sets `narrow`, except for NEAREST."""
        if expr.function in CHOICES:
            return self._choice(expr)
        terms = [self.term(argument) for argument in expr.arguments]
        if expr.function == NEAREST:
            return Term(self._number(terms[0]), Kind.FLOAT, terms[0].nullable, wide=terms[0].wide)
        self.narrow |= any(term.wide for term in terms)
        if expr.function == REST:
            return Term(f"rest({terms[0].text})", Kind.FLOAT, False)
        return Term(called(expr.function, [self._number(term) for term in terms]), Kind.FLOAT)

    def _choice(self, expr: Call) -> Term:
        """The text of case, coalesce, nullif or is_null."""
        terms = [self.term(argument) for argument in expr.arguments]
        self.narrow |= any(term.wide for term in terms)
        if expr.function == "is_null":
            return Term(self._is_null(terms[0]), Kind.BOOL, False, True)
        truths = expr.kind is Kind.BOOL
        texts = [self._item(term) if truths else self._number(term) for term in terms]
        if expr.function == "case":
            texts[:-1:2] = [self._truth(term) for term in terms[:-1:2]]
        return Term(chosen(expr.function, texts, truths=truths), Kind.BOOL if truths else Kind.FLOAT)

    def _is_null(self, term: Term) -> str:
        if term.kind is None or term.truth:
            return str(term.kind is None)
        if term.kind is Kind.FLOAT:
            return f"math.isnan({term.text})"
        return f"({term.text} == {NULL_INT if term.kind.is_whole else -1})"

    def _item(self, term: Term) -> str:
        """A truth value as 1, 0 or -1."""
        return self._as_integer(term).text if term.kind is Kind.BOOL else "-1"

    def _membership(self, expr: In) -> Term:
        operand = self.term(expr.operand)
        tests = [self._comparison("=", operand, self._constant(choice)) for choice in expr.choices]
        return _condition(" | ".join(f"({test})" for test in tests) or "False", operand)


def _divisor(expr: Expr) -> str:
    """The text of a number that stands in the query; "" for all else."""
    value = expr.value if isinstance(expr, Const) else None
    literal = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return repr(float(value)) if literal else ""  # type: ignore[arg-type]


def _condition(text: str, *operands: Term) -> Term:
    """A truth value; a comparison between kinds is False whatever its operands are."""
    return Term(text, Kind.BOOL, False, True, text != "False" and any(operand.wide for operand in operands))


def _python(operator: str) -> str:
    return "==" if operator == "=" else operator


def _guarded(operator: str, left: Term, right: Term, null: str) -> str:
    """A comparison of integers that is false where a side is null."""
    tests = [f"({left.text} {_python(operator)} {right.text})"]
    tests += [f"({side.text} != {null})" for side in (left, right) if side.nullable]
    return " & ".join(tests)
