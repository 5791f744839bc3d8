"""The check that a condition on a list can be evaluated when v[i] is taken.

The focus of a condition is the component read as v[i], v[i-k] or v[..i-1]; of several, the last one in the most
repetitions. The condition is evaluated once, when an event of the focus is taken. So everything else that it reads
must be bound by then, or never be bound.
"""

from __future__ import annotations

from itertools import combinations

from saffron.errors import QueryError
from saffron.language.binding.conditions import FINISHED, LOOKING_BACK, TAKING, Conjunct, Use
from saffron.language.patterns.layout import Layout, Leaf, Order, order, surely_begun
from saffron.language.scope.scope import Scope
from saffron.language.syntax.tree import Index


def check_list_condition(conjunct: Conjunct, layout: Layout, scope: Scope) -> None:
    """Raise QueryError (stage "plan") if a condition on positive components reads values that are not known in time.

    It also warns of conditions that always hold, and of those that also apply to the first event.
    """
    _warn_of_never(conjunct, layout, scope)
    taking = conjunct.taking()
    if not taking:
        return
    read = {use.component for use in taking}
    focus = max(read, key=lambda component: (len(layout.leaves[component].loops), component))
    leaf = layout.leaves[focus]
    late = [use.component for use in conjunct.uses if use.component not in read and _is_late(use, leaf, layout)]
    if late:
        raise _not_known_yet(taking[0], max(late), scope)
    for use in taking:
        if use.component != focus:
            _check_shared(use, focus, taking, layout, scope)
    for use in conjunct.finished():
        if layout.leaves[use.component].loops[0] == leaf.loops[0]:
            raise _end_not_known(use, scope)
    own = [use.index for use in conjunct.uses if use.component == focus]
    if Index.FIRST in own and not any(index in LOOKING_BACK for index in own):
        _warn_of_first(conjunct, focus, scope)


def _is_late(use: Use, focus: Leaf, layout: Layout) -> bool:
    """True if a component that is not read as v[i] may be bound, or complete, after an event of the focus."""
    leaf = layout.leaves[use.component]
    same_loop = leaf.loops[:1] == focus.loops[:1]
    if use.index in FINISHED and same_loop:
        return False  # `_end_not_known` is the better error
    found = order(leaf.path, focus.path)
    return not surely_begun(leaf.path, focus.path) and (found is not Order.NEVER or same_loop)


def _check_shared(use: Use, focus: int, taking: list[Use], layout: Layout, scope: Scope) -> None:
    """Raise QueryError unless another component read as v[i] is bound before the focus in each iteration.

    All repetitions around that component must be around the focus too.
    """
    leaf, deepest = layout.leaves[use.component], layout.leaves[focus]
    if deepest.loops[: len(leaf.loops)] != leaf.loops:
        raise _not_known_yet(use, focus, scope)
    if len(leaf.loops) < len(deepest.loops) and order(leaf.path, deepest.path) in (Order.AFTER, Order.EITHER):
        raise _not_known_yet(next(one for one in taking if one.component == focus), use.component, scope)


def _not_known_yet(use: Use, later: int, scope: Scope) -> QueryError:
    """The error of a condition on v[i] that reads component `later`, which is bound after it."""
    name, other = scope.places[use.component].variable, scope.places[later].variable
    if use.index in (Index.BEFORE, Index.THROUGH):
        hint = f"Aggregate the finished closure: f({name}[].x)."
        return scope.plan_error(f"{name}[{use.index.value}] is over when {other} comes", use.span, hint)
    hint = f"Write {name}[last].x, {name}[1].x, or an aggregate such as max({name}[].x)."
    message = f"{scope.text[use.span.start : use.span.end][:60]} has no value when {other} comes"
    return scope.plan_error(message, use.span, hint)


def _end_not_known(use: Use, scope: Scope) -> QueryError:
    """The error of a condition on v[i] that reads the end of the same list."""
    name = scope.places[use.component].variable
    hint = f"{name}[i] is being taken when nobody knows the end of {name} yet; compare with {name}[1] or {name}[i-1]."
    if use.index is Index.NTH:
        hint = f"{name}[i] may come before it. Compare with {name}[1] or {name}[i-1]."
        return scope.plan_error("a condition on each event cannot know a later one of its closure", use.span, hint)
    return scope.plan_error("a condition on each event cannot know the end of its closure", use.span, hint)


def _warn_of_never(conjunct: Conjunct, layout: Layout, scope: Scope) -> None:
    """Warn of a condition on two sides of an OR: no match, or no iteration, has both, so it always holds."""
    for one, other in combinations(conjunct.uses, 2):
        leaf, against = layout.leaves[one.component], layout.leaves[other.component]
        whole = Index.ALL in (one.index, other.index)  # a list that is not bound is empty
        if whole or one.component == other.component or order(leaf.path, against.path) is not Order.NEVER:
            continue
        again = bool(leaf.loops) and leaf.loops[:1] == against.loops[:1]
        if not again or (one.index in TAKING and other.index in TAKING):
            names = scope.places[one.component].variable, scope.places[other.component].variable
            what = "iteration" if again else "match"
            message = f"no {what} has both {names[0]} and {names[1]}: the condition always holds"
            scope.warn(message, conjunct.span, "A condition on what is not bound holds; write one for each.")
            return


def _warn_of_first(conjunct: Conjunct, focus: int, scope: Scope) -> None:
    """Warn of a condition on v[i] and v[1], which also applies to the first event itself."""
    name = scope.places[focus].variable
    span = next(use.span for use in conjunct.uses if use.component == focus and use.index is Index.FIRST)
    message = f"for the first event, {name}[i] and {name}[1] are the same: the condition applies to it too"
    scope.warn(message, span, f"For later events only, look back: {name}[i-1], or {name}[..i-1].")
