"""Matches of a flat SEQ by definition (N2-N4, design/language "Meaning"): all accepting runs of NFA^b, one by one.

Nothing here is clever: each window is matched on its own, from each of its events, by a set of runs that are plain
tuples of events. Events are dicts with `seq`, `ts`, `type` and attributes, null being None or absent. The number of
runs may be exponential; use it on some fifteen events.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

from saffron.language.plan import (
    Aggregate,
    Attribute,
    Binary,
    Call,
    Condition,
    Const,
    Edge,
    Expr,
    In,
    Length,
    MatchPlan,
    Scope,
    Strategy,
    Unary,
    Which,
)

Event = Mapping[str, Any]
Run = tuple[tuple[Event, ...], ...]  # events by component, as far as bound


@dataclass(frozen=True)
class Match:
    """`window`: its bounds, None for WITHIN alone; `opener`: position of the event that opened it (OPEN ON)."""

    events: Run
    window: tuple[int, int] | None
    opener: int | None = None

    def order(self) -> tuple[Any, ...]:
        """(last seq, first seq, all seqs, window); equal seqs: the one whose earlier components are shorter."""
        seqs = [event["seq"] for part in self.events for event in part]
        sizes = [len(part) for part in self.events]
        return seqs[-1], seqs[0], seqs, sizes, self.window or (), self.opener or 0


def matches(plan: MatchPlan, events: Sequence[Event], opened: Sequence[int] = ()) -> list[Match]:
    """All matches in the order of results. `opened`: positions at which OPEN ON windows open."""
    found = []
    for window, opener, inside, starts in _windows(plan, events, opened):
        for start in starts:
            found += [Match(run, window, opener) for run in _from(plan, inside[start], inside[start + 1 :])]
    return sorted(found, key=Match.order)


def _windows(
    plan: MatchPlan, events: Sequence[Event], opened: Sequence[int]
) -> Iterator[tuple[tuple[int, int] | None, int | None, Sequence[Event], Sequence[int]]]:
    """(bounds, opener, events of the window, which of them a match of it may begin with)"""
    size, slide = plan.window.size, plan.window.slide
    clock = "seq" if plan.window.events else "ts"
    if plan.window.opens is not None:
        for opener in opened:
            low = next(event[clock] for event in events if event["seq"] == opener)
            inside = [event for event in events if event["seq"] >= opener and event[clock] < low + size]
            yield (low, low + size), opener, inside, range(len(inside))
    elif slide is not None:
        instants = [event[clock] for event in events]
        first = (min(instants, default=0) - size) // slide
        for k in range(0 if plan.window.events else first, max(instants, default=0) // slide + 1):
            inside = [event for event in events if k * slide <= event[clock] < k * slide + size]
            yield (k * slide, k * slide + size), None, inside, range(len(inside))
    else:
        reach = size - 1 if plan.window.events else size
        for index, start in enumerate(events):
            yield None, None, [e for e in events[index:] if e[clock] - start[clock] <= reach], [0]


def _from(plan: MatchPlan, start: Event, later: Sequence[Event]) -> Iterator[Run]:
    """The accepting runs that begin with an event."""
    key = [start.get(name) for name in plan.key]
    if None in key:
        return
    run: Run = ((start,),)
    if not _allows(plan, 0, Edge.BEGIN, run):
        return
    runs = [run]
    if _accepts(plan, run):
        yield run
    for event in later:
        ours = [event.get(name) for name in plan.key] == key
        if not ours and plan.strategy is not Strategy.STRICT:
            continue
        kept: list[Run] = []
        for run in runs:
            extended = list(_extended(plan, run, event)) if ours else []
            yield from (new for new in extended if _accepts(plan, new))
            kept += [new for new in extended if not _finished(plan, new)]
            if _stays(plan, run, extended):
                kept.append(run)
        runs = kept


def _extended(plan: MatchPlan, run: Run, event: Event) -> Iterator[Run]:
    """The runs that bind the event: taken by the closure that was bound last, or beginning the next component."""
    last = len(run) - 1
    closure = plan.components[last].closure
    taken = (*run[:last], (*run[last], event))
    if closure and _allows(plan, last, Edge.TAKE, taken):
        yield taken
    begun = (*run, (event,))
    leaves = not closure or _allows(plan, last, Edge.PROCEED, run)
    if leaves and len(begun) <= len(plan.components) and _allows(plan, last + 1, Edge.BEGIN, begun):
        yield begun


def _stays(plan: MatchPlan, run: Run, extended: Sequence[Run]) -> bool:
    """Whether the run as it is also goes on (the ignore edge, N2)."""
    if plan.strategy is Strategy.ANY:
        return True
    if plan.strategy in (Strategy.STRICT, Strategy.PARTITION):
        return False
    # Skip till next: an event that the state takes (a closure) or that begins what it waits for is never ignored.
    if plan.components[len(run) - 1].closure:
        return all(len(new) > len(run) for new in extended)
    return not extended


def _finished(plan: MatchPlan, run: Run) -> bool:
    return len(run) == len(plan.components) and not plan.components[-1].closure


def _accepts(plan: MatchPlan, run: Run) -> bool:
    if len(run) < len(plan.components):
        return False
    return _finished(plan, run) or _allows(plan, len(run) - 1, Edge.PROCEED, run)


def _allows(plan: MatchPlan, component: int, edge: Edge, run: Run) -> bool:
    """Whether all conditions on an edge hold, the event at hand being the last one of the run."""
    if edge is not Edge.PROCEED and run[-1][-1]["type"] != plan.components[component].type:
        return False
    conditions = [c for c in plan.conditions if c.component == component and c.edge is edge]
    return all(holds(condition, run) for condition in conditions)


def holds(condition: Condition, run: Run) -> bool:
    """One conjunct; it holds where it looks back further than there are events."""
    for leaf in _attributes(condition.expr):
        if leaf.which is Which.PREVIOUS and len(run[leaf.component]) <= leaf.back:
            return True
    return value(condition.expr, run) is True


def _attributes(expr: Expr) -> Iterator[Attribute]:
    match expr:
        case Attribute():
            yield expr
        case Unary():
            yield from _attributes(expr.operand)
        case Binary():
            yield from (*_attributes(expr.left), *_attributes(expr.right))
        case Call():
            for argument in expr.arguments:
                yield from _attributes(argument)
        case In():
            yield from _attributes(expr.operand)


def value(expr: Expr, run: Run) -> Any:
    """The value of an expression over a run (None is null); `b[i]` is the last event of b."""
    match expr:
        case Const():
            return expr.value
        case Attribute():
            place = {Which.FIRST: 0, Which.PREVIOUS: -1 - expr.back}.get(expr.which, -1)
            return run[expr.component][place].get(expr.name)
        case Length():
            return len(run[expr.component])
        case Aggregate():
            chosen = run[expr.component] if expr.scope is Scope.CLOSED else run[expr.component][:-1]
            return _aggregate(expr, chosen)
        case Unary(operator="not"):
            return value(expr.operand, run) is not True
        case Unary():
            operand = _real(value(expr.operand, run))
            return None if operand is None else -operand
        case Binary():
            return _binary(expr.operator, value(expr.left, run), value(expr.right, run))
        case Call():
            return _call(expr.function, [_real(value(argument, run)) for argument in expr.arguments])
        case In():
            operand = value(expr.operand, run)
            return any(_binary("=", operand, choice.value) for choice in expr.choices)


def _aggregate(expr: Aggregate, events: Sequence[Event]) -> Any:
    if expr.name is None:
        return len(events)
    values = [event.get(expr.name) for event in events]
    if expr.function in ("first", "last"):
        return values[0 if expr.function == "first" else -1] if values else None
    present = [x for x in values if x is not None]
    if expr.function == "count":
        return len(present)
    if expr.function == "sum":
        return sum(present)
    if expr.function == "stddev":
        return statistics.stdev(present) if len(present) > 1 else None
    if not present:
        return None
    return {"avg": lambda: sum(present) / len(present), "min": lambda: min(present), "max": lambda: max(present)}[
        expr.function
    ]()


def _real(x: Any) -> float | None:
    return None if x is None or isinstance(x, bool | str) else float(x)


def _kind(x: Any) -> str:
    return "bool" if isinstance(x, bool) else "text" if isinstance(x, str) else "number"


def _binary(operator: str, left: Any, right: Any) -> Any:
    if operator in ("and", "or"):
        truths = (left is True, right is True)
        return all(truths) if operator == "and" else any(truths)
    if operator in ("+", "-", "*", "/", "%"):
        return _arithmetic(operator, _real(left), _real(right))
    if left is None or right is None or _kind(left) != _kind(right):
        return False
    if isinstance(left, str):
        left, right = left.encode(), right.encode()
    if isinstance(left, bool) and operator not in ("=", "!="):
        return False
    return {
        "=": left == right,
        "!=": left != right,
        "<": left < right,
        "<=": left <= right,
        ">": left > right,
        ">=": left >= right,
    }[operator]


def _arithmetic(operator: str, left: float | None, right: float | None) -> float | None:
    if left is None or right is None or (operator in ("/", "%") and right == 0):
        return None
    if operator == "/":
        return left / right
    if operator == "%":
        return math.fmod(left, right)
    return left + right if operator == "+" else left - right if operator == "-" else left * right


def _call(function: str, values: list[float | None]) -> float | None:
    numbers = [x for x in values if x is not None]
    if len(numbers) < len(values):
        return None
    if function == "sqrt":
        return math.sqrt(numbers[0]) if numbers[0] >= 0 else None
    return {"abs": lambda: abs(numbers[0]), "least": lambda: min(numbers), "greatest": lambda: max(numbers)}[function]()


def any_matches(plan: MatchPlan, events: Sequence[Event]) -> set[tuple[tuple[int, ...], ...]]:
    """Seqs by component of all matches under skip-till-any-match and WITHIN alone, without any automaton.

    Every way to cut every set of events into components, in order, whose conditions hold: each event's when it is
    bound, a closure's own once it is complete.
    """
    clock, reach = ("seq", plan.window.size - 1) if plan.window.events else ("ts", plan.window.size)
    found = set()
    for size in range(len(plan.components), len(events) + 1):
        for chosen in combinations(events, size):
            if chosen[-1][clock] - chosen[0][clock] > reach:
                continue
            keys = [[event.get(name) for name in plan.key] for event in chosen]
            if any(None in key or key != keys[0] for key in keys):
                continue
            for cuts in combinations(range(1, size), len(plan.components) - 1):
                bounds = [0, *cuts, size]
                run = tuple(tuple(chosen[a:b]) for a, b in pairwise(bounds))
                if _valid(plan, run):
                    found.add(tuple(tuple(event["seq"] for event in part) for part in run))
    return found


def _valid(plan: MatchPlan, run: Run) -> bool:
    for index, (component, part) in enumerate(zip(plan.components, run, strict=True)):
        if len(part) > 1 and not component.closure:
            return False
        for length in range(1, len(part) + 1):
            edge = Edge.BEGIN if length == 1 else Edge.TAKE
            if not _allows(plan, index, edge, (*run[:index], part[:length])):
                return False
        if component.closure and not _allows(plan, index, Edge.PROCEED, run[: index + 1]):
            return False
    return True
