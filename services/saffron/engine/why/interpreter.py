"""NFA^b (N2-N4), one event at a time in plain Python, with the outcome of each run and event."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from saffron.counted import counted
from saffron.engine.why.absences import (
    Complete,
    between,
    clock,
    decided_at_once,
    due_at,
    lead,
    offenders,
    openings,
    untimely,
)
from saffron.engine.why.bindings import MADE, Bindings, Bound, Event, parts
from saffron.engine.why.conditions import Conditions, Refusal
from saffron.engine.why.decisions import MOST_RUNS, Decision, Found, What
from saffron.engine.windows.bounds import common_windows, run_deadline, window_deadline
from saffron.errors import InputError
from saffron.language.patterns.positions import Positions
from saffron.language.patterns.stances import Edge
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pattern import Strategy
from saffron.schema.event_types import EventTypes


@dataclass(frozen=True)
class Run:
    """A run of the interpreter. `edges`: those that it can take. `until`: the last position (or ts) that it can take.

    `turns`: see `Bound`.
    """

    number: int
    bindings: Bindings
    edges: tuple[Edge, ...]
    until: int
    turns: tuple[int, ...]


def reads_others(plan: MatchPlan) -> bool:
    """True if the query must see events of other keys too: strict contiguity counts them."""
    return Strategy.STRICT in (*plan.begins, *plan.continues)


class Interpreter:
    """A plan over the events of one key, in order."""

    def __init__(self, plan: MatchPlan) -> None:
        self.plan = plan
        self.runs: list[Run] = []
        self.matches: list[Found] = []
        self.parents: dict[int, int] = {}
        self._positions = Positions(plan.pattern)
        self._conditions = Conditions(plan)
        self._loops = 1 + max((loop for edge in self._every_edge() for loop in edge.begins), default=-1)
        self._history: deque[Event] = deque()
        self._openers: deque[tuple[int, int]] = deque()
        self._pending: list[Complete] = []
        self._seen: set[tuple[object, ...]] = set()
        self._numbers = 0
        self._lead = lead(plan)
        self._asks_nots = bool(self._lead) or any(absence.until for absence in plan.absences)

    def _every_edge(self) -> Iterator[Edge]:
        """All edges that can be reached, by walking the places."""
        seen: set[object] = set()
        waiting = list(self._positions.first())
        while waiting:
            for edge in waiting.pop().edges:
                yield edge
                if edge.position not in seen:
                    seen.add(edge.position)
                    waiting += self._positions.after(edge.position)

    def step(self, event: Event, *, ours: bool = True, opens: bool = False) -> list[Decision]:
        """Advance by one event. `ours`: it is of the key. `opens`: a window of OPEN ON opens at it."""
        now = self._clock(event)
        decisions = self._ended(now)
        if opens:
            self._openers.append((int(event["seq"]), now))
        kept: dict[tuple[object, ...], Run] = {}
        for run in self.runs:
            if now > run.until:
                decisions.append(Decision(What.EXPIRES, run.number))
            else:
                decisions += self._run(run, event, ours, kept)
        if ours:
            decisions += self._begin(event, kept)
            self._remember(event, now)
        self.runs = list(kept.values())
        if len(self.runs) > MOST_RUNS:
            most = counted(MOST_RUNS, "partial match", "partial matches")
            raise InputError(
                f"more than {most} of one key at position {event['seq']}: too many to explain; "
                "ask for one match by its id, or for a shorter part of the stream"
            )
        return decisions

    def finish(self) -> list[Decision]:
        """End the stream: all windows close, and matches that trailing NOTs held back are decided."""
        return self._ended(None)

    def live(self) -> dict[str, int]:
        """The number of runs by what they have and wait for, the greatest first."""
        names = [component.variable for component in self.plan.components]
        waiting = Counter(
            f"has {', '.join(dict.fromkeys(names[bound.component] for bound in run.bindings))}, waits for "
            + " or ".join(dict.fromkeys(names[edge.component] for edge in run.edges))
            for run in self.runs
        )
        return dict(waiting.most_common())

    # ---------------------------------------------------------------- runs

    def _begin(self, event: Event, kept: dict[tuple[object, ...], Run]) -> Iterator[Decision]:
        """The decisions on an event as the first one of runs, refusals last; the runs that begin go into `kept`.

        There are none if no open window holds the event.
        """
        until = self._until(event)
        root = Run(0, (), (), until, (0,) * self._loops)
        refusals: list[tuple[Edge, list[Refusal]]] = []
        for edge in dict.fromkeys(edge for stance in self._positions.first() for edge in stance.edges):
            if until < self._clock(event) or event["type"] not in self._types(edge):
                continue
            refused, decisions = self._go_on(root, edge, event, kept)
            yield from decisions
            if refused:
                refusals.append((edge, refused))
        for edge, refused in refusals:
            yield Decision(What.REFUSED, 0, edge.component, refusals=tuple(refused))

    def _run(self, run: Run, event: Event, ours: bool, kept: dict[tuple[object, ...], Run]) -> Iterator[Decision]:
        """The decisions on an event for a run. The runs that took it are put into `kept`, and the run if it goes on.

        `ours`: the event is of the key. An event of another key can only break contiguity.
        """
        fired: list[Edge] = []
        refusals: list[Refusal] = []
        for edge in run.edges:
            if not ours or event["type"] not in self._types(edge):
                continue
            refused, decisions = self._go_on(run, edge, event, kept)
            if refused:
                refusals += refused
            else:
                fired.append(edge)
                yield from decisions
        apart = MADE in event and not fired  # results of other queries break no contiguity unless they are taken
        staying = run.edges if apart else tuple(edge for edge in run.edges if self._may_skip(edge, ours, fired))
        if staying:
            self._keep(replace(run, edges=staying), kept)
        if not fired:
            what = What.STAYS if staying else What.DIES
            waited = tuple(dict.fromkeys(edge.component for edge in run.edges))
            yield Decision(what, run.number, refusals=tuple(dict.fromkeys(refusals)), waited=waited)

    def _go_on(
        self, run: Run, edge: Edge, event: Event, kept: dict[tuple[object, ...], Run]
    ) -> tuple[list[Refusal], list[Decision]]:
        """The run takes the event by an edge, if no condition refuses it."""
        turns = tuple(turn + (loop in edge.begins) for loop, turn in enumerate(run.turns))
        bindings = (*run.bindings, Bound(event, edge.component, turns))
        refused = self._conditions.refusals(bindings, edge.position)
        if self._asks_nots:
            refused += untimely(self.plan, bindings, self._history)
        if refused:
            return refused, []
        taken = Run(0, bindings, (), run.until, turns)
        made: list[int] = []
        decisions: list[Decision] = []
        for stance in self._positions.after(edge.position):
            number = self._next(run.number)
            if stance.over:
                decisions += self._complete(replace(taken, number=number))
            if stance.edges:
                made.append(self._keep(replace(taken, number=number, edges=stance.edges), kept))
            made.append(number)
        what = What.TAKES if run.bindings else What.BEGINS
        return [], [Decision(what, run.number, edge.component, tuple(dict.fromkeys(made))), *decisions]

    def _keep(self, run: Run, kept: dict[tuple[object, ...], Run]) -> int:
        """Runs that have taken the same and wait for the same are one."""
        same = (tuple((id(b.event), b.component, b.turns) for b in run.bindings), run.edges)
        return kept.setdefault(same, run).number

    def _next(self, parent: int) -> int:
        self._numbers += 1
        self.parents[self._numbers] = parent
        return self._numbers

    def _may_skip(self, edge: Edge, ours: bool, fired: Sequence[Edge]) -> bool:
        """True if a run may go on waiting for an edge when the event has passed (the ignore edge, N2)."""
        strategy = (self.plan.continues if edge.again else self.plan.begins)[edge.component]
        if strategy is Strategy.NEXT:
            return not any(one.exclusive for one in fired)
        return strategy is Strategy.ANY or (strategy is Strategy.PARTITION and not ours)

    def _types(self, edge: Edge) -> EventTypes:
        return self.plan.components[edge.component].types

    # ---------------------------------------------------------------- matches

    def _complete(self, run: Run) -> Iterator[Decision]:
        """The pattern may be over here: a match in each window that holds it, if nothing forbids it."""
        broken = self._conditions.refusals_at_end(run.bindings)
        if broken:
            yield Decision(What.FORBIDDEN, run.number, refusals=tuple(broken))
            return
        gaps = tuple(openings(self.plan.pattern, run.bindings))
        for window, opener, deadline in self._windows(run):
            whole = Complete(run.bindings, window, opener, gaps, deadline, run.number, deadline)
            if any(gap.after is None for gap in gaps):
                self._wait(whole)
            else:
                yield from self._decide(whole)

    def _wait(self, whole: Complete) -> None:
        """Let a match wait until all NOTs at its end are over; a NOT without a time ends with the window."""
        due = [due_at(self.plan, gap, whole.rounds) for gap in whole.gaps if gap.after is None]
        timed = [instant for instant in due if instant is not None]
        last = max(timed, default=None)
        if last is None or last <= whole.ends:
            deadline = whole.ends if last is None or None in due else last
            self._pending.append(replace(whole, deadline=deadline, due=last))

    def _ended(self, now: int | None) -> list[Decision]:
        """Matches that waited for an instant before an event at `now`."""
        told: list[Decision] = []
        while due := [one for one in self._pending if now is None or now > one.deadline]:
            self._pending = [one for one in self._pending if one not in due]
            for one in due:
                decisions = list(self._decide(one))
                told += decisions
                matches = any(decision.what is What.MATCHES for decision in decisions)
                if matches and any(self.plan.absences[gap.absence].every for gap in one.gaps if gap.after is None):
                    self._wait(replace(one, rounds=one.rounds + 1))
        return told

    def _decide(self, whole: Complete) -> Iterator[Decision]:
        """The decision on a match: it stands, or a NOT forbids it; none if it was found before.

        A match that stands is added to `matches`.
        """
        bound = parts(whole.bindings, self.plan.positive)
        same = bound, whole.window, whole.opener, whole.rounds
        if same in self._seen:
            return
        for opening in (gap for gap in whole.gaps if not decided_at_once(self.plan, gap.absence)):
            offending = offenders(self.plan, opening, between(self.plan, opening, whole, self._history), whole.bindings)
            if offending:
                seqs = tuple(int(event["seq"]) for event in offending)
                yield Decision(What.FORBIDDEN, whole.run, offenders=seqs)
                return
        self._seen.add(same)
        self.matches.append(Found(whole.bindings, whole.window, whole.opener, whole.run))
        yield Decision(What.MATCHES, whole.run, due=whole.due)

    # ---------------------------------------------------------------- windows

    def _clock(self, event: Event) -> int:
        return clock(self.plan, event)

    def _until(self, first: Event) -> int:
        """The last position, or ts, that shares a window with a first event."""
        window, now = self.plan.window, self._clock(first)
        if window.opens is None:
            deadline: int = run_deadline(now, window.size, window.slide or 0, window.events)
            return deadline
        return max([window_deadline(low, window.size) for _, low in self._openers], default=now - 1)

    def _windows(self, run: Run) -> Iterator[tuple[tuple[int, int] | None, int | None, int]]:
        """(bounds, opener, deadline) of each window that holds the run's first and last event."""
        window = self.plan.window
        first, last = run.bindings[0].event, run.bindings[-1].event
        if window.opens is not None:
            for opener, low in self._openers:
                if opener <= first["seq"] and self._clock(last) < low + window.size:
                    yield (low, low + window.size), opener, window_deadline(low, window.size)
        elif window.slide is not None:
            bounds = common_windows(self._clock(first), self._clock(last), window.size, window.slide, window.events)
            for k in range(*bounds):
                low = k * window.slide
                yield (low, low + window.size), None, window_deadline(low, window.size)
        else:
            yield None, None, run.until

    def _remember(self, event: Event, now: int) -> None:
        """Keep the events that a gap may hold, and the windows that are still open."""
        if self.plan.absences:
            self._history.append(event)
            while self._clock(self._history[0]) < now - 2 * self.plan.window.size - self._lead:
                self._history.popleft()
        while self._openers and self._openers[0][1] + self.plan.window.size <= now:
            self._openers.popleft()
