"""Expressions of a plan. A variable is the index of its component, an attribute is a name and a kind."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from saffron.schema.constants import OfConstant
from saffron.schema.schema import Kind


class Which(Enum):
    """The event of a component's binding whose attribute is read."""

    SINGLE = "single"  # a.x           the event of a component that is no closure
    CURRENT = "i"  # b[i].x        the event being taken
    PREVIOUS = "i-k"  # b[i-k].x      the k-th event before it (k in `back`)
    FIRST = "1"  # b[1].x, b[first].x
    NTH = "n"  # b[n].x        the n-th event, n > 1 (n in `back`)
    LAST = "last"  # b[last].x, b[b.len].x
    ADJACENT = "next"  # NEXT(A).x    trend queries: the later event of an adjacent pair


class Scope(Enum):
    """The events of a closure that an aggregate runs over."""

    BEFORE = "..i-1"  # f(b[..i-1].x)  those taken before the current one
    THROUGH = "..i"  # f(b[..i].x)    these and the current one
    CLOSED = "[]"  # f(b[].x)       the finished closure


@dataclass(frozen=True)
class Const(OfConstant):
    """A literal. Numbers: int or float (durations are ms); `value` None is null."""


@dataclass(frozen=True)
class Attribute:
    """An attribute of one bound event. `name` "ts" and "type" are the event's own; all else is in the schema."""

    component: int
    which: Which
    name: str
    kind: Kind
    back: int = 0


@dataclass(frozen=True)
class Aggregate:
    """An aggregate over a closure's events: count, sum, avg, min, max, first, last, stddev, or a user-defined one.

    `name`: the attribute, None for count(b[]).
    """

    function: str
    component: int
    scope: Scope
    name: str | None
    kind: Kind | None


@dataclass(frozen=True)
class Length:
    """b.len: the number of events of the finished closure."""

    component: int


@dataclass(frozen=True)
class Unary:
    """A unary operation; the operator is "-" or "not"."""

    operator: str
    operand: Expr


@dataclass(frozen=True)
class Binary:
    """A binary operation; the operator is one of + - * / %  = != < <= > >=  and or.

    Numbers are computed as float64.

    - A comparison with null, or between kinds, is false.
    - Arithmetic with null is null, and so are x / 0 and x % 0.
    - % has the sign of the dividend (C's fmod).
    """

    operator: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Call:
    """A function of `schema.functions`: min and max of several values are least and greatest. `kind`: of its value.

    In conditions it is one that kernels compute: with `Function.kernel`, or a choice (case, coalesce, nullif, is_null)
    of numbers and truth values. RETURN and HAVING may have any.
    """

    function: str
    arguments: tuple[Expr, ...]
    kind: Kind = Kind.FLOAT


@dataclass(frozen=True)
class In:
    """The test operand IN (choices); the choices are literals of one kind."""

    operand: Expr
    choices: tuple[Const, ...]


@dataclass(frozen=True)
class TrendValue:
    """The value of `TrendPlan.aggregates[index]`, in RETURN and HAVING of an aggregate query."""

    index: int
    kind: Kind


@dataclass(frozen=True)
class GroupValue:
    """The value of the attribute `TrendPlan.group[index]`, in RETURN and HAVING of an aggregate query."""

    index: int
    kind: Kind


Expr = Const | Attribute | Aggregate | Length | Unary | Binary | Call | In | TrendValue | GroupValue
