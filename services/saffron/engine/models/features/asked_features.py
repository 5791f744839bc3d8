"""The conditions of queries on single events, from their plans. They decide which features tell events apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from saffron.engine.models.features.event_conditions import MIRRORED, OPERATORS, Comparison, Computed, Number
from saffron.engine.models.features.features import MOST_CONDITIONS
from saffron.language.plan.expressions import Aggregate, Attribute, Binary, Call, Const, Expr, In, Unary, Which
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.plan import Plan
from saffron.language.plan.trend_plan import TrendPlan
from saffron.schema.event_types import type_names
from saffron.schema.schema import COMPUTED_MARK, Kind

_CALLS = ("abs", "sqrt")


@dataclass
class Asked:
    """The properties of an event that the conditions of queries read.

    `types`: the types in patterns. `named`: attribute -> strings or integers that it is compared with for equality.
    `cuts`: number attribute -> (operator, constant) that it is compared with. `free`: number attributes that conditions
    read in any other way. `comparisons`: comparisons of numbers computed from one event; those that are equal up to
    names, or to the order of their sides, are there once. Attributes on which all events of a match agree are in none
    of these.
    """

    types: dict[str, None] = field(default_factory=dict)
    named: dict[str, dict[str | int, None]] = field(default_factory=dict)
    cuts: dict[str, dict[tuple[str, float], None]] = field(default_factory=dict)
    free: dict[str, Kind] = field(default_factory=dict)
    comparisons: dict[Comparison, None] = field(default_factory=dict)


def asked_of(plans: Sequence[Plan]) -> Asked:
    """The comparisons, types and attributes in the conditions of these queries."""
    asked = Asked()
    for one in plans:
        asked.types |= dict.fromkeys(type_names(component.types for component in one.components))
        if one.window.opens is not None:
            asked.types[one.window.opens.type] = None
        for expr in _conditions(one):
            _ask(asked, expr, frozenset(one.key))
    return asked


def _conditions(one: Plan) -> Iterator[Expr]:
    """All conditions of a query on its events: of OPEN ON, of WHERE, and those inside NOTs."""
    if one.window.opens is not None and one.window.opens.expr is not None:
        yield one.window.opens.expr
    if isinstance(one, TrendPlan):
        for template in (one.template, *one.negatives, *one.sides):
            for local in template.local:
                yield from local
            for transition in template.transitions:
                yield from transition.conditions
    elif isinstance(one, MatchPlan):
        for check in (*one.checks, *(check for absence in one.absences for check in absence.checks)):
            yield check.expr


def _ask(asked: Asked, expr: Expr, key: frozenset[str]) -> None:
    """Note the comparisons of a condition; of a part that is not understood, its attributes."""
    match expr:
        case Binary(operator="and" | "or", left=left, right=right):
            _ask(asked, left, key)
            _ask(asked, right, key)
        case Unary(operator="not", operand=operand):
            _ask(asked, operand, key)
        case _ if any(attribute.name.startswith(COMPUTED_MARK) for attribute in attributes_in(expr)):
            return  # no column has it where features are made
        case In(operand=Attribute() as attribute, choices=choices):
            for choice in choices:
                _compare(asked, attribute, "=", choice.value, key)
        case Binary(left=Attribute() as attribute) if expr.operator in OPERATORS and is_constant(expr.right):
            _compare(asked, attribute, expr.operator, constant_in(expr.right), key)
        case Binary(right=Attribute() as attribute) if expr.operator in OPERATORS and is_constant(expr.left):
            _compare(asked, attribute, MIRRORED[expr.operator], constant_in(expr.left), key)
        case Binary() if (found := comparison_in(expr, key)) is not None:
            if not asked.comparisons.keys().isdisjoint({found, found.mirrored}):
                return
            if len(asked.comparisons) < MOST_CONDITIONS:
                asked.comparisons[found] = None
            else:
                _free(asked, expr, key)
        case _:
            _free(asked, expr, key)


def _free(asked: Asked, expr: Expr, key: frozenset[str]) -> None:
    for attribute in attributes_in(expr):
        if attribute.name not in key and (attribute.kind.is_number or attribute.kind is Kind.BOOL):
            asked.free[attribute.name] = attribute.kind


def _compare(asked: Asked, attribute: Attribute, operator: str, value: object, key: frozenset[str]) -> None:
    """Add the comparison of an attribute with a constant. = and != are one: both separate the same events."""
    name, kind = attribute.name, attribute.kind
    if name in key or name in ("type", "ts") or not is_of(value, kind):
        return
    if isinstance(value, str):
        asked.named.setdefault(name, {})[value] = None
    elif not isinstance(value, int | float):
        return
    elif kind is Kind.BOOL:
        asked.cuts.setdefault(name, {})[">=", 1.0] = None
    elif kind.is_whole and operator in ("=", "!=") and float(value).is_integer():
        asked.named.setdefault(name, {})[int(value)] = None
    else:
        asked.cuts.setdefault(name, {})[operator, float(value)] = None


def is_of(value: object, kind: Kind) -> bool:
    """True if a constant is one of a kind's values: a comparison of values of two kinds does not hold."""
    if isinstance(value, bool):
        return kind is Kind.BOOL
    return kind is Kind.STRING if isinstance(value, str) else kind.is_number and isinstance(value, int | float)


def comparison_in(expr: Binary, key: frozenset[str]) -> Comparison | None:
    """A comparison of numbers of one event; None where it is none, or reads an attribute of the key."""
    if expr.operator not in OPERATORS:
        return None
    places = {(one.component, one.which, one.back) for one in attributes_in(expr)}
    left, right = _number(expr.left), _number(expr.right)
    if len(places) != 1 or left is None or right is None:
        return None
    found = Comparison(left, expr.operator, right)
    return None if found.wrong or key.intersection(found.names) else found


def _number(expr: Expr) -> Number | None:
    """An expression over the numbers of an event; None: something else is in it."""
    match expr:
        case Attribute():
            return expr.name if expr.kind.is_number and expr.name != "ts" else None
        case Const(value=int() | float() as value) if not isinstance(value, bool):
            return float(value)
        case Unary(operator="-", operand=operand):
            return _computed("-", operand)
        case Binary(operator="+" | "-" | "*" | "/" | "%"):
            return _computed(expr.operator, expr.left, expr.right)
        case Call(function=function, arguments=arguments) if function in _CALLS:
            return _computed(function, *arguments)
        case _:
            return None


def _computed(operator: str, *parts: Expr) -> Number | None:
    numbers = [number for part in parts if (number := _number(part)) is not None]
    return Computed(operator, tuple(numbers)) if len(numbers) == len(parts) else None


def attributes_in(expr: Expr) -> Iterator[Attribute]:
    """All attributes of events that an expression reads, those that aggregates run over included; not `ts`."""
    match expr:
        case Attribute():
            if expr.name not in ("ts", "type"):
                yield expr
        case Aggregate(name=str() as name, kind=Kind() as kind):
            if name not in ("ts", "type"):
                yield Attribute(expr.component, Which.LAST, name, kind)
        case Unary(operand=operand) | In(operand=operand):
            yield from attributes_in(operand)
        case Binary(left=left, right=right):
            yield from attributes_in(left)
            yield from attributes_in(right)
        case Call(arguments=arguments):
            for argument in arguments:
                yield from attributes_in(argument)
        case _:
            return


def is_constant(expr: Expr) -> bool:
    """True if an expression is a literal, or a negated one."""
    return isinstance(expr, Const) or (
        isinstance(expr, Unary) and expr.operator == "-" and isinstance(expr.operand, Const)
    )


def constant_in(expr: Expr) -> object:
    """The value of a constant; None: null."""
    if isinstance(expr, Unary) and isinstance(expr.operand, Const):
        value = expr.operand.value
        return -value if isinstance(value, int | float) else None
    return expr.value if isinstance(expr, Const) else None
