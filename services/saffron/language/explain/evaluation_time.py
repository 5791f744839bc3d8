"""The evaluation time of a match query's checks, as text."""

from __future__ import annotations

from saffron.language.patterns.layout import Order, Path, loops_of, order, paths
from saffron.language.plan.expressions import Aggregate, Attribute, Length, Scope, Which
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pattern import Check
from saffron.language.plan.rewrite import reads

TAKING = (Which.CURRENT, Which.PREVIOUS)
Read = Attribute | Aggregate | Length


def evaluation_time(check: Check, plan: MatchPlan) -> str:
    """`of each b`, `when b is taken`, `when b[3] is taken`, `when b is complete`, `when the last of a, b is known`."""
    where = paths(plan.pattern)
    found = list(reads(check.expr))
    taking = list(dict.fromkeys(node.component for node in found if _is_taking(node)))
    if taking:
        focus = max(taking, key=lambda component: (len(loops_of(where[component])), component))
        others = [plan.components[one].variable for one in taking if one != focus]
        beside = f", with {' and '.join(others)} of the same iteration" if others else ""
        return f"of each {plan.components[focus].variable}{beside}"
    lists = [node.component for node in found if _is_finished(node)]
    last = _latest({node.component for node in found}, where)
    complete = [component for component in last if component in lists]
    names = [plan.components[component].variable + _number(component, found) for component in last]
    if not last:
        return "of the first event"
    if len(last) == len(complete):
        return f"when {' and '.join(names)} {'is' if len(names) == 1 else 'are'} complete"
    if len(last) == 1:
        return f"when {names[0]} is taken"
    return f"when the last of {', '.join(names)} is known"


def _number(component: int, found: list[Read]) -> str:
    """`[3]` for a component whose third event is the last that is read; else ""."""
    own = [node for node in found if node.component == component]
    numbers = [node.back for node in own if isinstance(node, Attribute) and node.which is Which.NTH]
    return f"[{max(numbers)}]" if numbers and not any(map(_is_finished, own)) else ""


def _is_taking(node: Read) -> bool:
    if isinstance(node, Aggregate):
        return node.scope is not Scope.CLOSED
    return isinstance(node, Attribute) and node.which in TAKING


def _is_finished(node: Read) -> bool:
    if isinstance(node, Attribute):
        return node.which is Which.LAST
    return isinstance(node, Length) or node.scope is Scope.CLOSED


def _latest(components: set[int], where: dict[int, Path]) -> list[int]:
    """The components that may be the last to take an event."""
    return [
        one
        for one in sorted(components)
        if not any(
            other != one and order(where[one], where[other]) is Order.BEFORE and not _share(where[one], where[other])
            for other in components
        )
    ]


def _share(one: Path, other: Path) -> bool:
    """True if a repetition is around both."""
    return bool(loops_of(one)) and loops_of(one)[:1] == loops_of(other)[:1]
