"""Checks of equal values (a key of some components only) and of different ones (ANY ... DISTINCT)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from saffron.language.binding.keys import PartialKey
from saffron.language.binding.not_in_repetition import known_in_repetition
from saffron.language.patterns.layout import Choice, Layout, Order, order
from saffron.language.plan.expressions import Attribute, Binary, Const, Which
from saffron.language.plan.pattern import Check, Distinct
from saffron.language.scope.scope import Found, Scope
from saffron.language.scope.typed import kind_or_guess
from saffron.language.syntax.paths import attribute_text


def key_checks(key: PartialKey, layout: Layout) -> list[Check]:
    """The checks of a partial key: each event equals the first of its list, and first events equal each other.

    A null value equals nothing, so it fails too.
    """
    positive = [component for component in key.components if layout.leaves[component].absence is None]
    found = key.attribute
    checks = [_check("=", *_each(found, component, layout), key.text) for component in positive]
    for one, other in _pairs(positive, layout):
        checks.append(_check("=", _first(found, other, layout), _first(found, one, layout), key.text))
    return checks


def key_checks_of_not(key: PartialKey, number: int, layout: Layout, scope: Scope) -> list[Check]:
    """The checks of a partial key inside NOT `number`: events there equal the match's events and each other.

    QueryError for a NOT in a repetition that cannot know the match's events.
    """
    found = key.attribute
    inside = [component for component in key.components if layout.leaves[component].absence == number]
    outside = [component for component in key.components if layout.leaves[component].absence is None]
    sure = [component for component in outside if layout.leaves[component].certain]
    if inside and outside and layout.absences[number].loops:
        outside = known_in_repetition(key, number, outside, layout, scope)
        sure = [component for component in sure if component in outside]
    checks: list[Check] = []
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


def distinct_checks_of_not(number: int, layout: Layout, scope: Scope) -> list[Check]:
    """The checks of DISTINCT inside NOT `number`: all values are different, none is null."""
    checks: list[Check] = []
    for choice in layout.absences[number].distinct:
        found = _distinct_attribute(choice, scope)
        text = f"DISTINCT {attribute_text(found.name)}"
        if found.null:
            checks.append(Check(Const(False), text))
            continue
        reads = [_first(found, component, layout) for component in choice.components]
        checks.extend(_check("=", one, one, text) for one in reads)
        checks.extend(_check("!=", other, one, text) for one, other in combinations(reads, 2))
    return checks


def distinct_rules(layout: Layout, scope: Scope) -> list[Distinct]:
    """The rules of ANY ... DISTINCT in the pattern, outside of NOTs."""
    result = []
    for choice in layout.distinct:
        found = _distinct_attribute(choice, scope)
        if not found.null:
            result.append(Distinct(choice.components, found.name, kind_or_guess(found), choice.loops))
    return result


def unseen_distincts(layout: Layout, scope: Scope) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """(text, components) of each DISTINCT of an attribute that is always null. It can never hold."""
    found = ((_distinct_attribute(choice, scope), choice.components) for choice in layout.distinct)
    return tuple((f"DISTINCT {attribute_text(one.name)}", components) for one, components in found if one.null)


def _distinct_attribute(choice: Choice, scope: Scope) -> Found:
    """The attribute of DISTINCT; QueryError if one of its components lacks it."""
    owners = [scope.places[component] for component in choice.components]
    return scope.shared(str(choice.written.distinct), owners, choice.written.span)


def _pairs(components: list[int], layout: Layout) -> Iterator[tuple[int, int]]:
    """Pairs whose equality makes all components equal.

    Components behind one that every match binds are paired with that one only; all others with each other.
    """
    sure = next((component for component in components if layout.leaves[component].certain), None)
    for one, other in combinations(components, 2):
        after = (
            sure is not None
            and other != sure
            and order(layout.leaves[sure].path, layout.leaves[other].path) is Order.BEFORE
        )
        if one == sure or not after:
            yield one, other


def _check(operator: str, left: Attribute, right: Attribute, text: str) -> Check:
    return Check(Binary(operator, left, right), text)


def _first(found: Found, component: int, layout: Layout) -> Attribute:
    """The attribute of a component's first event, or of its only one."""
    leaf = layout.leaves[component]
    which = Which.FIRST if leaf.loops and leaf.absence is None else Which.SINGLE
    return Attribute(component, which, found.name, kind_or_guess(found))


def _each(found: Found, component: int, layout: Layout) -> tuple[Attribute, Attribute]:
    """The attribute of a component's current event, and of its first one."""
    first = _first(found, component, layout)
    which = Which.CURRENT if layout.leaves[component].loops else Which.SINGLE
    return Attribute(component, which, found.name, kind_or_guess(found)), first
