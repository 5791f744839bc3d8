"""Match plans over imprecise time, event by event in plain Python, with the confidence of each prefix.

Matches with the new event are searched in the order of the pattern, among the events of one key so far.
`match.uncertain` defines a match and the time at which it is found. A prefix whose confidence is below the threshold
ends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from saffron.engine.match.planning.imprecise import is_ordered
from saffron.engine.why.bindings import SPAN, Bindings, Bound, Event, Span, of
from saffron.engine.why.chance import chance
from saffron.engine.why.conditions import Conditions
from saffron.engine.why.decisions import MOST_RUNS, Decision, What
from saffron.engine.windows.bounds import first_window, last_window
from saffron.errors import InputError
from saffron.language.patterns.positions import Positions
from saffron.language.patterns.stances import Edge, Stance
from saffron.language.plan.match_plan import MatchPlan

Window = tuple[int, int] | None

EQUAL = 1e-12
"""Confidences as near as that to the threshold reach it: sums of fractions are rounded."""


def span_of(event: Event) -> Span:
    """The time of an event, as an interval."""
    span = event.get(SPAN)
    return span if isinstance(span, Span) else Span(int(event["ts"]), int(event["ts"]), "uniform")


@dataclass(frozen=True)
class Likely:
    """A match."""

    bindings: Bindings
    window: Window
    chance: float


@dataclass(frozen=True)
class _Search:
    """The search for matches with the event `new` in a window. `decisions`: those on the event."""

    new: Event
    window: Window
    decisions: list[Decision]


class LikelyInterpreter:
    """A plan over the events of one key, in order of arrival."""

    def __init__(self, plan: MatchPlan) -> None:
        self.plan = plan
        self.threshold = plan.confidence or 0.0
        self.matches: list[Likely] = []
        self._loose = [part.closure and not is_ordered(plan, number) for number, part in enumerate(plan.components)]
        self._positions = Positions(plan.pattern)
        self._conditions = Conditions(plan)
        self._events: deque[Event] = deque()
        self._seen: set[tuple[object, ...]] = set()
        self._tried = 0

    def step(self, event: Event, *, ours: bool = True, opens: bool = False) -> list[Decision]:
        """Advance by one event. `ours`: it is of the key. No window opens at one."""
        del opens
        if not ours:
            return []
        span, size = span_of(event), self.plan.window.size
        while self._events and span_of(self._events[0]).hi + size < span.lo:
            self._events.popleft()
        self._events.append(event)
        self._seen, self._tried = set(), 0
        decisions: list[Decision] = []
        for window in self._windows(span):
            self._go_on((), self._positions.first(), _Search(event, window, decisions))
        return decisions

    def finish(self) -> list[Decision]:
        """End the stream: there are no decisions, as no match waits for the end."""
        return []

    def live(self) -> dict[str, int]:
        """There are no partial matches."""
        return {}

    def chance(self, bindings: Bindings, window: Window) -> float:
        """The confidence of the bound events."""
        parts = [[span_of(bound.event) for bound in of(bindings, part)] for part in range(len(self.plan.components))]
        taken = [part for part in parts if part]
        return chance(taken, self._loose, self.plan.window.size, window)

    def _windows(self, span: Span) -> Iterator[Window]:
        size, slide = self.plan.window.size, self.plan.window.slide
        if slide is None:
            yield None
            return
        for number in range(first_window(span.lo, size, slide), last_window(span.hi, slide) + 1):
            yield number * slide, number * slide + size

    # ---------------------------------------------------------------- the search

    def _go_on(self, path: Bindings, stances: Sequence[Stance], search: _Search) -> None:
        edges = dict.fromkeys(edge for stance in stances for edge in stance.edges)
        for edge in edges:
            if search.new in (bound.event for bound in path) or self._has_room(edge, search.new):
                for event in list(self._candidates(edge, path)):
                    self._take(path, edge, event, search)

    def _has_room(self, edge: Edge, new: Event) -> bool:
        """True if the new event may still come, here or further on."""
        return any(new["type"] in part.types for part in self.plan.components[edge.component :])

    def _candidates(self, edge: Edge, path: Bindings) -> Iterator[Event]:
        taken = {bound.event["seq"] for bound in path}
        least = path[-1].event["seq"] if edge.again and self._loose[edge.component] else -1
        for event in self._events:
            right = event["type"] in self.plan.components[edge.component].types
            if right and event["seq"] not in taken and event["seq"] > least:
                yield event

    def _take(self, path: Bindings, edge: Edge, event: Event, search: _Search) -> None:
        """Extend the path by one event, if time and conditions allow it."""
        self._tried += 1
        if self._tried > MOST_RUNS:
            raise InputError(
                f"event {search.new['seq']} can be put in more than {MOST_RUNS:,} ways: too many to explain; "
                "ask for one match by its id"
            )
        longer = _bound(self.plan, path, edge, event)
        has = any(bound.event is search.new for bound in longer)
        likely = self.chance(longer, search.window)
        if likely == 0.0:
            return
        if likely < self.threshold - EQUAL:
            if has:
                search.decisions.append(Decision(What.BELOW, 0, edge.component, chance=likely, bound=longer))
            return
        refused = self._conditions.refusals(longer, edge.position)
        if refused:
            if has:
                search.decisions.append(Decision(What.REFUSED, 0, edge.component, refusals=tuple(refused)))
            return
        if event is search.new:
            search.decisions.append(Decision(What.TAKES, 0, edge.component, chance=likely, bound=longer))
        stances = self._positions.after(edge.position)
        if has and any(stance.over for stance in stances):
            self._complete(longer, likely, search)
        self._go_on(longer, stances, search)

    def _complete(self, path: Bindings, likely: float, search: _Search) -> None:
        """Add the decision on a whole match, once for its events and window.

        The match stands, or a condition on its lists forbids it. `likely`: its confidence.
        """
        identity = (search.window, tuple((bound.component, bound.event["seq"]) for bound in path))
        if identity in self._seen:
            return
        self._seen.add(identity)
        broken = self._conditions.refusals_at_end(path)
        if broken:
            search.decisions.append(Decision(What.FORBIDDEN, 0, refusals=tuple(broken)))
            return
        self.matches.append(Likely(path, search.window, likely))
        search.decisions.append(Decision(What.MATCHES, 0, chance=likely, bound=path))


def way_to(plan: MatchPlan, match: Sequence[Sequence[Event]], window: Window) -> list[Decision] | None:
    """The decisions that lead to a match: its events in the order of the pattern, each with the confidence so far.

    The last decision is the match itself. None if the events are no match.

    `match`: its events by component, in the order in which it lists them.
    """
    interpreter = LikelyInterpreter(plan)
    conditions, positions = Conditions(plan), Positions(plan.pattern)
    stances: Sequence[Stance] = positions.first()
    bindings: Bindings = ()
    decisions: list[Decision] = []
    for component, events in enumerate(match):
        for event in events:
            edge = next((e for stance in stances for e in stance.edges if e.component == component), None)
            if edge is None:
                return None
            bindings = _bound(plan, bindings, edge, event)
            likely = interpreter.chance(bindings, window)
            low = likely == 0.0 or likely < interpreter.threshold - EQUAL
            if low or conditions.refusals(bindings, edge.position):
                return None
            what = What.TAKES if decisions else What.BEGINS
            decisions.append(Decision(what, 0, component, chance=likely, bound=bindings))
            stances = positions.after(edge.position)
    if not any(stance.over for stance in stances) or conditions.refusals_at_end(bindings):
        return None
    return [*decisions, Decision(What.MATCHES, 0, chance=decisions[-1].chance, bound=bindings)]


def _bound(plan: MatchPlan, path: Bindings, edge: Edge, event: Event) -> Bindings:
    """The path extended by one event."""
    closures = sum(component.closure for component in plan.components)
    turns = path[-1].turns if path else (0,) * closures
    after = tuple(turn + (loop in edge.begins) for loop, turn in enumerate(turns))
    return (*path, Bound(event, edge.component, after))
