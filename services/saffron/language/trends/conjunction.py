"""AND of two patterns of trends (T10): the template of the event sequences that both sides match.

Section 9 of GRETA counts unordered pairs of different trends, one of each side. Let both sides match C sequences, and
only one side L or R: there are L R + L C + R C + C (C - 1) / 2 pairs. So a sequence of events must be exactly one trend
of a side, under whatever variables.
"""

from __future__ import annotations

from dataclasses import replace

from saffron.language.patterns.successors import Refuse
from saffron.language.plan.expressions import Attribute, Expr
from saffron.language.plan.pattern import Component, Strategy
from saffron.language.plan.rewrite import mapped
from saffron.language.plan.trend_plan import Template, Transition, TrendState
from saffron.schema.event_types import EventTypes, one_type

_STRICTER = (Strategy.ANY, Strategy.PARTITION, Strategy.STRICT)


def both(left: Template, right: Template, components: tuple[Component, ...]) -> Template:
    """The product of two templates: states are pairs of equal types, and have the left side's component."""
    pairs = [
        (one, two)
        for one, mine in enumerate(left.states)
        for two, other in enumerate(right.states)
        if components[mine.component].types.equals(components[other.component].types)
    ]
    links = {
        ((first.source, second.source), (first.target, second.target)): (first, second)
        for first in left.transitions
        for second in right.transitions
    }
    links = {ends: link for ends, link in links.items() if ends[0] in pairs and ends[1] in pairs}
    kept = _useful(pairs, set(links), left, right)
    number = {pair: at for at, pair in enumerate(kept)}
    states = tuple(_state(left.states[one], right.states[two]) for one, two in kept)
    transitions = [
        _transition(number[source], number[target], link, left, right)
        for (source, target), link in links.items()
        if source in number and target in number
    ]
    transitions.sort(key=lambda one: (one.source, one.target))
    local = tuple(
        (
            *left.local[one],
            *(_named(expr, {right.states[two].component: left.states[one].component}) for expr in right.local[two]),
        )
        for one, two in kept
    )
    return Template(states, tuple(transitions), local)


def _state(one: TrendState, two: TrendState) -> TrendState:
    """The state of a pair: it starts or ends a trend if both do, and has the NOTs of both."""
    return TrendState(
        one.component,
        one.start and two.start,
        one.end and two.end,
        _joined(one.leading, two.leading),
        _joined(one.trailing, two.trailing),
    )


def _joined(one: tuple[int, ...], two: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted({*one, *two}))


def _transition(
    source: int, target: int, link: tuple[Transition, Transition], left: Template, right: Template
) -> Transition:
    """The transition of a pair: the conditions and NOTs of both, and the stricter strategy."""
    mine, other = link
    names = {
        right.states[end].component: left.states[own].component
        for end, own in ((other.source, mine.source), (other.target, mine.target))
    }
    conditions = (*mine.conditions, *(_named(expr, names) for expr in other.conditions))
    strategy = max(mine.strategy, other.strategy, key=_STRICTER.index)
    return Transition(source, target, conditions, _joined(mine.absences, other.absences), strategy)


def _named(expr: Expr, names: dict[int, int]) -> Expr:
    """A condition with its components renamed: `names` maps those of the right side to the left side's."""

    def leaf(node: Expr) -> Expr:
        return replace(node, component=names[node.component]) if isinstance(node, Attribute) else node

    return mapped(expr, leaf)


Pair = tuple[int, int]


def _useful(pairs: list[Pair], links: set[tuple[Pair, Pair]], left: Template, right: Template) -> list[Pair]:
    """The pairs on a path from a common start to a common end."""
    reached = {(one, two) for one, two in pairs if left.states[one].start and right.states[two].start}
    ending = {(one, two) for one, two in pairs if left.states[one].end and right.states[two].end}
    forward = _closed(reached, links)
    back = _closed(ending, {(target, source) for source, target in links})
    return [pair for pair in pairs if pair in forward and pair in back]


def _closed(found: set[Pair], links: set[tuple[Pair, Pair]]) -> set[Pair]:
    """All pairs that links lead to from `found`, with these."""
    while more := {target for source, target in links if source in found} - found:
        found = found | more
    return found


def check_same_types(left: Template, right: Template, components: tuple[Component, ...], refuse: Refuse) -> None:
    """Raise the error of `refuse` if the sides take an event by different sets of types that have one in common."""
    for mine in left.states:
        for other in right.states:
            one, two = components[mine.component], components[other.component]
            if one.types.meets(two.types) and not one.types.equals(two.types):
                hint = "Write the same types on both sides, or a query for each side."
                names = f"{one.types} {one.variable} and {two.types} {two.variable}"
                raise refuse(f"{names} stand on two sides of an AND, and may take the same event", hint)


def check_one_reading(side: Template, components: tuple[Component, ...], refuse: Refuse) -> None:
    """Raise the error of `refuse` if one sequence of event types leads to two states of a side."""

    sets = [components[state.component].types for state in side.states]
    names = tuple(dict.fromkeys(name for one in sets for name in one.named))
    kinds = [*map(one_type, names), EventTypes(names, others=True)]

    def by_type(states: set[int]) -> list[frozenset[int]]:
        found = [frozenset(state for state in sorted(states) if sets[state].holds(kind)) for kind in kinds]
        return [one for one in found if one]

    queue = by_type({at for at, state in enumerate(side.states) if state.start})
    seen = set(queue)
    while queue:
        subset = queue.pop()
        if len(subset) > 1:
            hint = "Add one query for each side, and compute with their results."
            message = "events are one trend of a side of AND, and can be read here as two"
            raise refuse(message, hint)
        for found in by_type({link.target for link in side.transitions if link.source in subset}):
            if found not in seen:
                seen.add(found)
                queue.append(found)
