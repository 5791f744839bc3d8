"""The checks of a NOT: conjuncts that name a component inside it."""

from __future__ import annotations

from dataclasses import replace

from saffron.language.binding.conditions import FINISHED, LOOKING_BACK, TAKING, Conjunct, Use
from saffron.language.patterns.layout import Layout, NotLayout
from saffron.language.plan.expressions import Attribute, Expr, Which
from saffron.language.plan.pattern import Check
from saffron.language.plan.rewrite import mapped
from saffron.language.scope.scope import Scope
from saffron.language.syntax.tree import Index


def absence_of(conjunct: Conjunct, layout: Layout, scope: Scope) -> int | None:
    """The number of the NOT whose components a conjunct names, None without one; QueryError for two NOTs."""
    found: int | None = None
    for use in conjunct.uses:
        number = layout.leaves[use.component].absence
        if found is not None and number not in (None, found):
            hint = "Write a condition for each NOT; directly neighbouring ones are one NOT."
            raise scope.plan_error("a condition on the events of two NOTs", use.span, hint)
        found = number if found is None else found
    return found


def checks_of_not(conjunct: Conjunct, number: int, layout: Layout, scope: Scope) -> list[Check]:
    """The checks of NOT `number` that a conjunct becomes, one for each iteration that must be there.

    Raises QueryError for a reference that has no value there.
    """
    ruled = layout.absences[number]
    inside = [use for use in conjunct.uses if layout.leaves[use.component].absence is not None]
    for use in conjunct.uses:
        if layout.leaves[use.component].absence is None:
            _check_outside(use, ruled, layout, scope)
        else:
            _check_inside(use, ruled, scope)
    taken = {use.component for use in inside if use.index is Index.CURRENT}
    if not taken:
        return [Check(_single(conjunct.expr, {use.component: use.component for use in inside}), conjunct.text)]
    focus = max(taken, key=lambda component: (len(layout.leaves[component].own), component))
    own = layout.leaves[focus].own
    for use in inside:
        mine = layout.leaves[use.component].own
        if use.index is Index.CURRENT and own[: len(mine)] != mine:
            name = scope.places[focus].variable
            hint = "Compare events of one repetition."
            raise scope.plan_error(f"{_written(use, scope)} has no value when {name} comes", use.span, hint)
    checks = []
    for copy in _copies(focus, layout):
        rounds = layout.leaves[copy].rounds
        chosen = {use.component: _at(use, taken, rounds, layout) for use in inside}
        checks.append(Check(_single(conjunct.expr, chosen), conjunct.text))
    return checks


def _check_inside(use: Use, ruled: NotLayout, scope: Scope) -> None:
    """Raise QueryError unless a reference inside the NOT reads a single event, as no list is built there."""
    name = scope.places[use.component].variable
    if use.aggregate or use.index is Index.ALL:
        hint = f"A NOT asks whether there is such an event: write conditions on {name}[i]."
        raise scope.plan_error(f"no list is built of {name}, which stands inside a NOT", use.span, hint)
    if use.index in (Index.LAST, Index.NTH, Index.PREVIOUS) or (use.index is Index.FIRST and ruled.loops):
        hint = f"Write {name}[i]: inside a NOT a repetition is there as often as it must be, and no more."
        raise scope.plan_error(f"{_written(use, scope)} has no value inside a NOT", use.span, hint)


def _check_outside(use: Use, ruled: NotLayout, layout: Layout, scope: Scope) -> None:
    """Raise QueryError unless a reference outside the NOT is known there: v[i] is an event of the NOT's iteration."""
    name, loops = scope.places[use.component].variable, layout.leaves[use.component].loops
    if ruled.until and ruled.loops[-1] in loops:
        _check_ended(use, ruled, layout, scope)
        return
    if use.index in TAKING and ruled.loops[: len(loops)] != loops:
        hint = f"Write {name}[1].x, {name}[last].x, or an aggregate such as max({name}[].x)."
        raise scope.plan_error(f"{_written(use, scope)} has no value in a condition of a NOT", use.span, hint)
    if use.index in FINISHED and loops[:1] == ruled.loops[:1]:
        hint = f"Compare with {name}[i], the event of the same repetition."
        raise scope.plan_error("a NOT in a repetition cannot know the end of that repetition", use.span, hint)


def _check_ended(use: Use, ruled: NotLayout, layout: Layout, scope: Scope) -> None:
    """Raise QueryError unless a reference to the repetition that an UNTIL ends reads its first event, or earlier ones.

    Events before the current one can be read where a single component is repeated.
    """
    inside = [leaf.loops for leaf in layout.leaves[: layout.positive] if ruled.loops[-1] in leaf.loops]
    if use.index is Index.FIRST or (use.index in LOOKING_BACK and inside == [ruled.loops]):
        return
    name = scope.places[use.component].variable
    hint = f"Compare with {name}[1], the first event of the list"
    if inside == [ruled.loops]:
        hint += f", with {name}[i-1], the one taken before, or with an aggregate of {name}[..i-1]"
    raise scope.plan_error(f"UNTIL cannot know {_written(use, scope)}, which it may prevent", use.span, f"{hint}.")


def _written(use: Use, scope: Scope) -> str:
    """The text of a reference, for errors."""
    return scope.text[use.span.start : use.span.end][:60]


def _copies(component: int, layout: Layout) -> list[int]:
    """The components of all iterations of one component inside a NOT."""
    leaf = layout.leaves[component]
    return [index for index, other in enumerate(layout.leaves) if other.event is leaf.event]


def _at(use: Use, taken: set[int], rounds: tuple[int, ...], layout: Layout) -> int:
    """The component that a reference reads in the iterations `rounds`. `taken`: components read as v[i]."""
    if use.component not in taken:
        return use.component
    depth = len(layout.leaves[use.component].rounds)
    return next(c for c in _copies(use.component, layout) if layout.leaves[c].rounds == rounds[:depth])


def _single(expr: Expr, chosen: dict[int, int]) -> Expr:
    """The expression with components inside the NOT replaced by `chosen`, and read as single events."""

    def leaf(node: Expr) -> Expr:
        if isinstance(node, Attribute) and node.component in chosen:
            component = node.component if node.which is Which.FIRST else chosen[node.component]
            return replace(node, component=component, which=Which.SINGLE)
        return node

    return mapped(expr, leaf)
