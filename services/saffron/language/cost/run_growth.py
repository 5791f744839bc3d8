"""What lets the number of a pattern's runs grow: repetitions, choices inside them, strategies that skip."""

from __future__ import annotations

from dataclasses import dataclass

from saffron.language.patterns.layout import paths
from saffron.language.plan import plan
from saffron.language.plan.plan import MatchPlan, Shape, Strategy


@dataclass(frozen=True)
class Growth:
    """Of the longest way through a shape.

    `events`: components that it binds, each as often as a repetition with an end has it under skip-till-any-match.
    `skipped`: those of them after the first that may be skipped. `loops`: repetitions. `doubling`: repetitions
    without end in which each event, or each iteration, may split a run; `free`: one of them by skipping. `outside`:
    components outside of these.
    """

    events: int = 0
    skipped: int = 0
    loops: int = 0
    doubling: int = 0
    free: bool = False
    outside: int = 0

    def size(self) -> tuple[int, int, int, int]:
        return self.doubling, self.loops, self.skipped, self.events


def growth(query: MatchPlan) -> Growth:
    """The growth of a query's runs; its first event is never skipped for another one."""
    found = _growth(query.pattern, query)
    first = min(1, found.skipped) if found.skipped == found.events else 0
    return Growth(found.events, found.skipped - first, found.loops, found.doubling, found.free, found.outside)


def _growth(shape: Shape, query: MatchPlan) -> Growth:
    match shape:
        case plan.Take(component=component):
            return Growth(1, int(query.begins[component] is Strategy.ANY), outside=1)
        case plan.Absent():
            return Growth()
        case plan.InOrder(parts=parts):
            return _sum([_growth(part, query) for part in parts])
        case plan.Choice(parts=parts):
            return max((_growth(part, query) for part in parts), key=Growth.size)
        case plan.Together(parts=parts, count=count):
            found = sorted((_growth(part, query) for part in parts), key=Growth.size, reverse=True)
            return _sum(found[:count])
        case plan.Loop():
            return _repeated(shape, query)


def _sum(parts: list[Growth]) -> Growth:
    return Growth(
        sum(part.events for part in parts),
        sum(part.skipped for part in parts),
        sum(part.loops for part in parts),
        sum(part.doubling for part in parts),
        any(part.free for part in parts),
        sum(part.outside for part in parts),
    )


def _repeated(loop: plan.Loop, query: MatchPlan) -> Growth:
    body = _growth(loop.body, query)
    free = _skips(loop, query)
    if loop.high is None and (free or _splits(loop, query)):
        return Growth(body.events, body.skipped, body.loops + 1, body.doubling + 1, free or body.free, 0)
    if loop.high is None or not free:
        return Growth(body.events, body.skipped, body.loops + 1, body.doubling, body.free, body.outside)
    times, places = loop.high, max(body.events, 1)
    return Growth(times * places, times * places, body.loops, body.doubling, body.free, body.outside)


def _skips(loop: plan.Loop, query: MatchPlan) -> bool:
    """Whether an event of the repetition may be skipped for a later one."""
    inside = paths(loop.body)
    if any(query.continues[component] is Strategy.ANY for component in inside):
        return True
    return not isinstance(loop.body, plan.Take) and any(query.begins[c] is Strategy.ANY for c in inside)


def _splits(loop: plan.Loop, query: MatchPlan) -> bool:
    """Whether an iteration can be gone through in several ways."""
    inside = paths(loop.body)
    if not _chooses(loop.body):
        return False
    contiguous = all(
        strategy in (Strategy.STRICT, Strategy.PARTITION)
        for component in inside
        for strategy in (query.begins[component], query.continues[component])
    )
    types = [query.components[component].type for component in inside]
    return not contiguous or len(set(types)) < len(types)


def _chooses(shape: Shape) -> bool:
    if isinstance(shape, plan.InOrder):
        return any(map(_chooses, shape.parts))
    return isinstance(shape, plan.Choice | plan.Together | plan.Loop)
