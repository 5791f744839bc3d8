"""The factors that let the number of runs grow: repetitions, choices inside them, strategies that skip."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from saffron.language.patterns.layout import paths
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pattern import Absent, Choice, InOrder, Interleaved, Loop, Shape, Strategy, Take


@dataclass(frozen=True)
class RunFactors:
    """Counts along the longest path through a shape.

    `events`: components that it binds; under skip-till-any-match, a bounded repetition counts its body `high` times.
    `skipped`: those of them that may be skipped. `loops`: repetitions. `doubling`: unbounded repetitions in which each
    event, or each iteration, may split a run. `free`: one of them splits by skipping. `outside`: components outside of
    them.
    """

    events: int = 0
    skipped: int = 0
    loops: int = 0
    doubling: int = 0
    free: bool = False
    outside: int = 0

    def size(self) -> tuple[int, int, int, int]:
        """The sort key by which one path is longer than another."""
        return self.doubling, self.loops, self.skipped, self.events


def run_factors(query: MatchPlan) -> RunFactors:
    """The factors of a query. The first event of a run is not skipped for another: that is a run of its own."""
    found = _factors(query.pattern, query)
    first = min(1, found.skipped) if found.skipped == found.events else 0
    return RunFactors(found.events, found.skipped - first, found.loops, found.doubling, found.free, found.outside)


def _factors(shape: Shape, query: MatchPlan) -> RunFactors:
    """The factors of a shape.

    A choice has those of its longest part (`RunFactors.size`). AND and ANY have the sum of their `count` longest parts.
    """
    match shape:
        case Take(component=component):
            return RunFactors(1, int(query.begins[component] is Strategy.ANY), outside=1)
        case Absent():
            return RunFactors()
        case InOrder(parts=parts):
            return _sum([_factors(part, query) for part in parts])
        case Choice(parts=parts):
            return max((_factors(part, query) for part in parts), key=RunFactors.size)
        case Interleaved(parts=parts, count=count):
            found = sorted((_factors(part, query) for part in parts), key=RunFactors.size, reverse=True)
            return _sum(found[:count])
        case Loop():
            return _repeated(shape, query)


def _sum(parts: list[RunFactors]) -> RunFactors:
    """The factors of parts one after the other."""
    return RunFactors(
        sum(part.events for part in parts),
        sum(part.skipped for part in parts),
        sum(part.loops for part in parts),
        sum(part.doubling for part in parts),
        any(part.free for part in parts),
        sum(part.outside for part in parts),
    )


def _repeated(loop: Loop, query: MatchPlan) -> RunFactors:
    """The factors of a repetition."""
    body = _factors(loop.body, query)
    free = _skips(loop, query)
    if loop.high is None and (free or _splits(loop, query)):
        return RunFactors(body.events, body.skipped, body.loops + 1, body.doubling + 1, free or body.free, 0)
    if loop.high is None or not free:
        return RunFactors(body.events, body.skipped, body.loops + 1, body.doubling, body.free, body.outside)
    times, places = loop.high, max(body.events, 1)
    return RunFactors(times * places, times * places, body.loops, body.doubling, body.free, body.outside)


def _skips(loop: Loop, query: MatchPlan) -> bool:
    """True if a run may skip an event of the repetition for a later one."""
    inside = paths(loop.body)
    if any(query.continues[component] is Strategy.ANY for component in inside):
        return True
    return not isinstance(loop.body, Take) and any(query.begins[c] is Strategy.ANY for c in inside)


def _splits(loop: Loop, query: MatchPlan) -> bool:
    """True if one iteration can match the same events in several ways."""
    inside = paths(loop.body)
    if not _chooses(loop.body):
        return False
    contiguous = all(
        strategy in (Strategy.STRICT, Strategy.PARTITION)
        for component in inside
        for strategy in (query.begins[component], query.continues[component])
    )
    types = [query.components[component].types for component in inside]
    return not contiguous or any(one.meets(other) for one, other in combinations(types, 2))


def _chooses(shape: Shape) -> bool:
    """True if a shape has a choice, an AND or ANY, or a repetition."""
    if isinstance(shape, InOrder):
        return any(map(_chooses, shape.parts))
    return isinstance(shape, Choice | Interleaved | Loop)
