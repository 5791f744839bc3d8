"""NOT ... FOR in a match query: the clauses that it excludes, and the conditions on the other sides of its OR."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from saffron.durations import duration
from saffron.language.binding.conditions import Use
from saffron.language.patterns.layout import Layout, NotLayout, Order, order
from saffron.language.patterns.shapes import nullable
from saffron.language.plan.expressions import Attribute, Expr
from saffron.language.plan.limits import MAX_REPORTS
from saffron.language.plan.pattern import Absent, Check, Choice, InOrder, Interleaved, Loop, Shape, Take
from saffron.language.plan.rewrite import mapped, reads
from saffron.language.scope.scope import Scope
from saffron.language.syntax import tree


def check_due_absences(query: tree.Query, layout: Layout, scope: Scope) -> None:
    """Raise QueryError for a NOT ... FOR that the query's clauses exclude."""
    _refuse_imprecise(query, layout, scope)
    ends, parts = _ends(layout.shape), layout.shape.parts if isinstance(layout.shape, InOrder) else ()
    for number, ruled in enumerate(layout.absences):
        if ruled.due is None or ruled.or_else:
            continue
        _check_time(query, ruled.due, scope, leads=parts[:1] == (Absent(number),))
        if query.output is not None and query.output.mode == "COMPRESSED" and number in ends:
            hint = "Leave OUTPUT COMPRESSED out, or the time of the NOT: then it lasts until the window closes."
            message = "OUTPUT COMPRESSED joins matches when a window closes, and this NOT is reported earlier"
            raise scope.plan_error(message, ruled.due.span, hint)
        if ruled.due.every:
            _check_every(query, ruled.due, scope)
            if ends > {number}:
                hint = "Write FOR, or put an event between the two that every match has."
                message = "NOT ... EVERY ends a pattern alone, and another NOT may end it too"
                raise scope.plan_error(message, layout.absences[min(ends - {number})].span, hint)
    _check_sum(query, layout, scope)


def _refuse_imprecise(query: tree.Query, layout: Layout, scope: Scope) -> None:
    """Raise QueryError for a NOT with a time, or an UNTIL, over imprecise time."""
    if query.confidence is None and (scope.schema is None or not scope.schema.times):
        return
    for ruled in layout.absences:
        if ruled.due is not None:
            hint = "Leave the NOT out: a pattern over imprecise time is a SEQ of events and A+."
            raise scope.plan_error("imprecise times give a NOT no instant to count from", ruled.due.span, hint)
        if ruled.until:
            hint = "Leave UNTIL out: a pattern over imprecise time is a SEQ of events and A+."
            raise scope.plan_error("imprecise times do not tell what UNTIL comes before", ruled.span, hint)


def _check_time(query: tree.Query, due: tree.Due, scope: Scope, *, leads: bool) -> None:
    """Raise QueryError where a NOT's time cannot be counted, or cannot lie in a window. `leads`: it comes first."""
    within = query.within
    word = "EVERY" if due.every else "FOR"
    if within.size.events:
        hint = "Give WITHIN a duration."
        raise scope.plan_error(f"{word} counts time, and the window counts events", due.span, hint)
    alone = within.slide is None and within.opening is None
    if (leads and alone) or due.amount < within.size.amount + alone:
        return
    size = duration(within.size.amount)
    least = duration(due.amount if alone else due.amount + 1)
    message = f"{word} {duration(due.amount)} never ends in a window of {size}"
    raise scope.plan_error(message, due.span, f"Write WITHIN {least} or more.")


def _check_sum(query: tree.Query, layout: Layout, scope: Scope) -> None:
    """Raise QueryError where the times of several NOTs, or of one and an event behind it, do not fit into a window."""
    timed = [ruled.due for ruled in layout.absences if ruled.due is not None and not ruled.or_else]
    within = query.within
    if not timed or within.size.events:
        return
    alone = within.slide is None and within.opening is None
    least = _shortest(layout.shape, layout.absences, begun=False)[1] + (not alone)
    if least > within.size.amount:
        message = f"a match lasts longer than a window of {duration(within.size.amount)}, by the times of its NOTs"
        raise scope.plan_error(message, timed[-1].span, f"Write WITHIN {duration(least)} or more.")


def _shortest(shape: Shape, absences: Sequence[NotLayout], *, begun: bool) -> tuple[int, int]:
    """The least times (ms) from the event before a shape to its last event, and to the last due time or event in it.

    A due time counts from the event before it. An event behind a due time comes later than that. `begun`: there surely
    is an event before the shape; the time before a match's first event is no part of the match.
    """
    match shape:
        case Absent(number=number):
            due = absences[number].due
            return 0, 0 if due is None or absences[number].or_else or not begun else due.amount
        case Choice(parts=parts):
            times = [_shortest(part, absences, begun=begun) for part in parts]
            return min(last for last, _ in times), min(end for _, end in times)
        case Interleaved(parts=parts, count=count):
            times = [_shortest(part, absences, begun=begun) for part in parts]
            return sorted(last for last, _ in times)[count - 1], sorted(end for _, end in times)[count - 1]
        case Loop(body=body, low=low):
            last, end = _shortest(body, absences, begun=begun)
            return low * last, (low - 1) * last + end
        case InOrder(parts=parts):
            return _in_order(parts, absences, begun=begun)
        case Take():
            return 0, 0


def _in_order(parts: Sequence[Shape], absences: Sequence[NotLayout], *, begun: bool) -> tuple[int, int]:
    """`_shortest` of a SEQ."""
    last = end = 0
    for part in parts:
        part_last, part_end = _shortest(part, absences, begun=begun)
        if nullable(part):
            counted = 0 if isinstance(part, Absent) and part.since else last  # of an AND: at the least from here on
            end = max(end, counted + part_end)
            continue
        earliest = end + 1 if end > last else last
        begins = earliest if _begins_with_event(part) else last
        last, end, begun = max(earliest, begins + part_last), max(earliest, begins + part_end), True
    return last, end


def _begins_with_event(shape: Shape) -> bool:
    """True if an event stands first in a shape, whatever its choices."""
    if isinstance(shape, Loop):
        return _begins_with_event(shape.body)
    first = shape.parts[:1] if isinstance(shape, InOrder) else ()
    return isinstance(shape, Take) or any(map(_begins_with_event, first))


def _check_every(query: tree.Query, due: tree.Due, scope: Scope) -> None:
    """Raise QueryError for too many reports of a match, or a choice among them: all have the same events."""
    reports = query.within.size.amount // due.amount
    if reports > MAX_REPORTS:
        message = f"EVERY {duration(due.amount)} reports a match up to {reports:,} times in a window"
        hint = f"Write a longer time, or a shorter WITHIN: at most {MAX_REPORTS:,} times are reported."
        raise scope.plan_error(message, due.span, hint)
    chosen: tree.Node | None = query.output if query.output is not None and query.output.mode != "ALL" else None
    if chosen is None and query.consume is not None and query.consume.scope != "none":
        chosen = query.consume
    if chosen is not None:
        hint = "Leave it out, or write FOR instead of EVERY."
        raise scope.plan_error("the results of NOT ... EVERY are of one match: there is no choice", chosen.span, hint)


def _ends(shape: Shape) -> frozenset[int]:
    """The NOTs (numbers) that may end a match."""
    match shape:
        case Absent(number=number):
            return frozenset([number])
        case Choice(parts=parts) | Interleaved(parts=parts):
            return frozenset[int]().union(*map(_ends, parts))
        case Loop(body=body):
            return _ends(body)
        case InOrder(parts=parts):
            found: frozenset[int] = frozenset()
            for part in reversed(parts):
                found |= _ends(part)
                if not nullable(part):
                    break
            return found
        case Take():
            return frozenset()


def check_not_in_or(uses: Mapping[int, Sequence[Use]], layout: Layout, scope: Scope) -> None:
    """Raise QueryError if a condition on a NOT in an OR reads an event that does not come before the OR.

    `uses`: by NOT, its references to the match.
    """
    for number, own in uses.items():
        for _, component in layout.absences[number].rivals[:1]:
            for use in own:
                if not _is_before(use.component, component, layout):
                    hint = "Compare it with events before the OR."
                    message = "a NOT in an OR is decided when its time is over, before this event is known"
                    raise scope.plan_error(message, use.span, hint)


def checks_of_rivals(checks: Sequence[Check], number: int, layout: Layout) -> Iterator[Check]:
    """The checks of NOT `number` on the events of its OR's other sides: those that such an event decides when taken."""
    for copy, component in layout.absences[number].rivals:
        for check in checks:
            read = {leaf.component for leaf in reads(check.expr)}
            if component in read and all(_is_before(one, component, layout) for one in read - {component}):
                yield replace(check, expr=_moved(check.expr, component, copy))


def _is_before(one: int, component: int, layout: Layout) -> bool:
    """True if the events of a component are bound before those of another."""
    return one != component and order(layout.leaves[one].path, layout.leaves[component].path) is Order.BEFORE


def _moved(expr: Expr, component: int, copy: int) -> Expr:
    """The expression with a component replaced."""

    def leaf(node: Expr) -> Expr:
        if isinstance(node, Attribute) and node.component == component:
            return replace(node, component=copy)
        return node

    return mapped(expr, leaf)
