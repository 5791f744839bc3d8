"""Checks that events agree ([attr] asked of some components only) or differ (ANY ... DISTINCT inside a NOT)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from saffron.language.binding.keys import Partial
from saffron.language.patterns.layout import Choice, Layout, Order, order
from saffron.language.plan import plan
from saffron.language.plan.plan import Which
from saffron.language.scope.scope import Found, Scope
from saffron.language.scope.typed import kind_or_guess


def agree(key: Partial, layout: Layout) -> list[plan.Check]:
    """Each event of a list has the first one's value, the first events of all components agree, none is null."""
    positive = [component for component in key.components if layout.leaves[component].absence is None]
    found = key.attribute
    checks = [_check("=", *_each(found, component, layout), key.text) for component in positive]
    for one, other in _pairs(positive, layout):
        checks.append(_check("=", _first(found, other, layout), _first(found, one, layout), key.text))
    return checks


def agree_inside(key: Partial, number: int, layout: Layout) -> list[plan.Check]:
    """The same for the components of NOT `number`: they agree with the match, and with each other."""
    found = key.attribute
    inside = [component for component in key.components if layout.leaves[component].absence == number]
    outside = [component for component in key.components if layout.leaves[component].absence is None]
    sure = [component for component in outside if layout.leaves[component].certain]
    checks: list[plan.Check] = []
    for component in inside:
        mine = _first(found, component, layout)
        others = sure[:1] or outside
        checks.extend(_check("=", mine, _first(found, other, layout), key.text) for other in others)
        if not sure:
            checks.append(_check("=", mine, mine, key.text))
    if not sure:
        for one, other in combinations(inside, 2):
            checks.append(_check("=", _first(found, other, layout), _first(found, one, layout), key.text))
    return checks


def differ_inside(number: int, layout: Layout, scope: Scope) -> list[plan.Check]:
    """DISTINCT inside NOT `number`."""
    checks: list[plan.Check] = []
    for choice in layout.absences[number].distinct:
        found = _differing(choice, scope)
        text = f"DISTINCT {found.name}"
        if found.null:
            checks.append(plan.Check(plan.Const(False), text))
            continue
        reads = [_first(found, component, layout) for component in choice.components]
        checks.extend(_check("=", one, one, text) for one in reads)
        checks.extend(_check("!=", other, one, text) for one, other in combinations(reads, 2))
    return checks


def distinct(layout: Layout, scope: Scope) -> list[plan.Distinct]:
    """ANY ... DISTINCT of the pattern, but for those inside NOTs."""
    result = []
    for choice in layout.distinct:
        found = _differing(choice, scope)
        if not found.null:
            result.append(plan.Distinct(choice.components, found.name, kind_or_guess(found), choice.loops))
    return result


def undistinguished(layout: Layout, scope: Scope) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """The DISTINCT of attributes that no event has had yet: text, components. Null differs from nothing."""
    found = ((_differing(choice, scope), choice.components) for choice in layout.distinct)
    return tuple((f"DISTINCT {one.name}", components) for one, components in found if one.null)


def _differing(choice: Choice, scope: Scope) -> Found:
    """The attribute of DISTINCT, which all of its components must have."""
    found = Found(str(choice.written.distinct), None)
    for type_name in dict.fromkeys(scope.places[component].type for component in choice.components):
        found = scope.attribute(type_name, str(choice.written.distinct), choice.written.span)
    return found


def _pairs(components: list[int], layout: Layout) -> Iterator[tuple[int, int]]:
    """Pairs that make all of them agree: with the first one that is surely there all that come after it, else each."""
    sure = next((component for component in components if layout.leaves[component].certain), None)
    for one, other in combinations(components, 2):
        after = (
            sure is not None
            and other != sure
            and order(layout.leaves[sure].path, layout.leaves[other].path) is Order.BEFORE
        )
        if one == sure or not after:
            yield one, other


def _check(operator: str, left: plan.Attribute, right: plan.Attribute, text: str) -> plan.Check:
    return plan.Check(plan.Binary(operator, left, right), text)


def _first(found: Found, component: int, layout: Layout) -> plan.Attribute:
    leaf = layout.leaves[component]
    which = Which.FIRST if leaf.loops and leaf.absence is None else Which.SINGLE
    return plan.Attribute(component, which, found.name, kind_or_guess(found))


def _each(found: Found, component: int, layout: Layout) -> tuple[plan.Attribute, plan.Attribute]:
    """An event of a component, and the first one."""
    first = _first(found, component, layout)
    which = Which.CURRENT if layout.leaves[component].loops else Which.SINGLE
    return plan.Attribute(component, which, found.name, kind_or_guess(found)), first
