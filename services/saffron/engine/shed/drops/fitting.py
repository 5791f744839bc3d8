"""The events that a query can take, by its conditions on single events.

An event that fits no component of a pattern, negated ones included, is in no match and refuses none. Where strategies
skip events it may be dropped at no loss, with nothing learned. Features do not hold all of an event: a condition may
hold unless they show that it fails.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saffron.engine.match.general.checks import Asked
from saffron.engine.models.features.asked_features import attributes_in, comparison_in, constant_in, is_constant, is_of
from saffron.engine.models.features.event_conditions import MIRRORED, OPERATORS
from saffron.engine.models.features.features import Binned, FeatureSpec
from saffron.language.plan.expressions import Attribute, Binary, Expr, In, Unary
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pattern import Strategy
from saffron.schema.event_types import EventTypes

Marks = NDArray[np.bool_]
Vectors = NDArray[np.int16]

_SKIPS = {Strategy.NEXT, Strategy.ANY}


def can_skip(one: MatchPlan) -> bool:
    """True if dropping an event that the query cannot take changes none of its matches."""
    return one.window.opens is None and {one.strategy, *one.begins, *one.continues} <= _SKIPS


def unfit(one: MatchPlan, spec: FeatureSpec, vectors: Vectors) -> Marks:
    """bool [n]: the events with these vectors that no component of the query can take."""
    asked = [*map(Asked, one.checks), *(Asked(check) for absence in one.absences for check in absence.checks)]
    local = [(min(each.reads), each.expr) for each in asked if each.is_local and each.reads]
    truths = _Truths(spec, vectors, frozenset(one.key))
    fits = np.zeros(len(vectors), np.bool_)
    for number, component in enumerate(one.components):
        may = truths.of_types(component.types).may
        for expr in (expr for owner, expr in local if owner == number):
            may = may & truths.of(expr).may
        fits |= may
    return ~fits


@dataclass(frozen=True)
class _Truth:
    """The truth of a condition on n feature vectors: bool [n] where it must hold, and where it may."""

    must: Marks
    may: Marks


@dataclass(frozen=True)
class _Truths:
    """The truth of conditions on the events of feature vectors. `key`: attributes equal in all events of a match."""

    spec: FeatureSpec
    vectors: Vectors
    key: frozenset[str]

    def of(self, expr: Expr) -> _Truth:
        """The truth of a condition on one event, as far as vectors show it.

        A part that vectors do not show, such as a function, may hold and may not.
        """
        match expr:
            case Binary(operator="and", left=left, right=right):
                one, other = self.of(left), self.of(right)
                return _Truth(one.must & other.must, one.may & other.may)
            case Binary(operator="or", left=left, right=right):
                one, other = self.of(left), self.of(right)
                return _Truth(one.must | other.must, one.may | other.may)
            case Unary(operator="not", operand=operand):
                one = self.of(operand)
                return _Truth(~one.may, ~one.must)
            case In(operand=operand, choices=choices) if choices:
                found = [self.of(Binary("=", operand, choice)) for choice in choices]
                must = np.logical_or.reduce([one.must for one in found])
                return _Truth(must, np.logical_or.reduce([one.may for one in found]))
            case Binary(left=Attribute() as attribute, right=right) if is_constant(right):
                return self._compared(attribute, expr.operator, constant_in(right))
            case Binary(left=left, right=Attribute() as attribute) if is_constant(left):
                return self._compared(attribute, MIRRORED.get(expr.operator, ""), constant_in(left))
            case Binary():
                return self._computed(expr)
            case _:
                return self._anything()

    def of_types(self, types: EventTypes) -> _Truth:
        """The truth of 'the event has one of these types'."""
        if types.others:
            return self._anything()
        found = [self.named("type", "=", name) for name in types.named]
        must = np.logical_or.reduce([one.must for one in found])
        return _Truth(must, np.logical_or.reduce([one.may for one in found]))

    def named(self, name: str, operator: str, value: str | int) -> _Truth:
        """The truth of a comparison of an attribute, by which kinds are formed, with a constant.

        Vectors do not separate values that no kind names, null included.
        """
        if name not in self.spec.kinds:
            return self._anything()
        place = self.spec.kinds.index(name)
        own = [values[place] for values in self.spec.known]
        same = np.array([*(one == value for one in own), False], np.bool_)
        may = np.array([*(one == value or (one is None and value not in own) for one in own), True], np.bool_)
        named = np.array([*(one is not None for one in own), False], np.bool_)
        codes = self.vectors[:, 0]
        if operator == "=":
            return _Truth(same[codes], may[codes])
        return _Truth((named & ~same)[codes], ~same[codes])

    def _compared(self, attribute: Attribute, operator: str, value: object) -> _Truth:
        """The truth of a comparison of an attribute with a constant. Values of two kinds are not compared here."""
        name = attribute.name
        if not is_of(value, attribute.kind):
            return self._anything()
        constant = _as_named(value)
        if operator in ("=", "!=") and name in self.spec.kinds and constant is not None:
            return self.named(name, operator, constant)
        place = next((place for place, one in enumerate(self.spec.attributes) if one.name == name), None)
        if place is None or operator not in OPERATORS or not isinstance(value, int | float) or attribute.kind.is_wide:
            return self._anything()
        binned = self.spec.attributes[place]
        must, may = np.array([_in_bin(binned, b, operator, float(value)) for b in range(binned.bins)], np.bool_).T
        bins = self.vectors[:, 1 + self.spec.codes + place]
        return _Truth(must[bins], may[bins])

    def _computed(self, expr: Binary) -> _Truth:
        """The truth of a comparison of numbers computed from one event, if it is a feature."""
        found = comparison_in(expr, self.key)
        if found is None or any(one.kind.is_wide for one in attributes_in(expr)):
            return self._anything()
        for place, condition in enumerate(reversed(self.spec.conditions), 1):
            if condition in (found, found.mirrored):
                holds = self.vectors[:, len(self.spec.fields) - place] == 1
                return _Truth(holds, holds)
        return self._anything()

    def _anything(self) -> _Truth:
        count = len(self.vectors)
        return _Truth(np.zeros(count, np.bool_), np.ones(count, np.bool_))


def _as_named(value: object) -> str | int | None:
    """A constant as kinds name it; None: they do not."""
    if isinstance(value, str):
        return value
    return int(value) if isinstance(value, int | float) and float(value).is_integer() else None


def _in_bin(binned: Binned, number: int, operator: str, value: float) -> tuple[bool, bool]:
    """(must hold, may hold): the comparison with a value, for the values in a bin of an attribute."""
    edges = binned.edges
    if number > len(edges):
        return False, False  # null
    least = edges[number - 1] if number else -math.inf
    most = math.nextafter(edges[number], -math.inf) if number < len(edges) else math.inf
    match operator:
        case "<":
            return most < value, least < value
        case "<=":
            return most <= value, least <= value
        case ">":
            return least > value, most > value
        case ">=":
            return least >= value, most >= value
        case "=":
            return least == value == most, least <= value <= most
        case _:
            return value < least or value > most, not least == value == most
