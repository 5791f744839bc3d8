"""The placement of a flat query's conjuncts on edges, each at the state of its last identifier (N3)."""

from __future__ import annotations

from dataclasses import replace

from saffron.language.binding.conditions import FINISHED, LOOKING_BACK, TAKING, Conjunct
from saffron.language.binding.keys import PartialKey
from saffron.language.plan.expressions import Attribute, Binary, Expr, Which
from saffron.language.plan.pattern import Condition, Edge
from saffron.language.plan.rewrite import mapped, reads
from saffron.language.scope.scope import Scope
from saffron.language.scope.typed import kind_or_guess


def edge_conditions(conjunct: Conjunct) -> list[Condition]:
    """The conditions that a conjunct becomes, one for each edge."""
    last = max((use.component for use in conjunct.uses), default=0)
    own = [use.index for use in conjunct.uses if use.component == last]
    expr, text = conjunct.expr, conjunct.text
    if any(index in FINISHED for index in own):
        return [_condition(expr, last, Edge.PROCEED, text)]
    if not any(index in TAKING for index in own):
        return [_condition(_at_begin(expr, last), last, Edge.BEGIN, text)]
    take = _condition(expr, last, Edge.TAKE, text)
    if any(index in LOOKING_BACK for index in own):
        return [take]
    return [_condition(_at_begin(expr, last), last, Edge.BEGIN, text), take]


def key_conditions(key: PartialKey, scope: Scope) -> list[Condition]:
    """The conditions of a partial key such as [P.vehicle]: each event has the first one's value, which is not null."""
    name, kind = key.attribute.name, kind_or_guess(key.attribute)
    first = key.components[0]

    def read(component: int, which: Which) -> Attribute:
        return Attribute(component, which, name, kind)

    def equal(component: int, edge: Edge, left: Attribute, right: Attribute) -> Condition:
        local = left == right
        return Condition(component, edge, Binary("=", left, right), local, key.text)

    conditions: list[Condition] = []
    for component in key.components:
        closure = scope.places[component].closure
        taken = read(component, Which.CURRENT if closure else Which.SINGLE)
        anchor = read(first, Which.FIRST if scope.places[first].closure else Which.SINGLE)
        conditions.append(equal(component, Edge.BEGIN, taken, taken if component == first else anchor))
        if closure:
            conditions.append(equal(component, Edge.TAKE, taken, anchor))
    return conditions


def _at_begin(expr: Expr, component: int) -> Expr:
    """The expression on the edge begin, where v[1] of the component is the event being taken."""

    def leaf(node: Expr) -> Expr:
        if isinstance(node, Attribute) and node.component == component and node.which is Which.FIRST:
            return replace(node, which=Which.CURRENT)
        return node

    return mapped(expr, leaf)


def _condition(expr: Expr, component: int, edge: Edge, text: str) -> Condition:
    """A condition; `local` if it reads only the event being taken."""
    local = edge is not Edge.PROCEED and all(
        isinstance(node, Attribute) and node.component == component and node.which in (Which.SINGLE, Which.CURRENT)
        for node in reads(expr)
    )
    return Condition(component, edge, expr, local, text)
