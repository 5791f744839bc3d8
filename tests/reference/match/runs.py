"""The accepting runs of a query: every run is kept by itself, with all that it has taken (N2-N4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tests.reference.match.absence import in_time
from tests.reference.match.conditions import pairs_hold, violated
from tests.reference.match.events import Bindings, Bound, Event
from tests.reference.match.positions import Edge, State, begin, left, onward
from tests.reference.match.question import (
    ANY,
    NEXT,
    PARTITION,
    Question,
    complete,
    distinct_differ,
    in_order,
    keys_agree,
)
from tests.reference.match.until import ended


class Run(NamedTuple):
    """What has been taken, and the components that may take the next event."""

    bindings: Bindings
    edges: tuple[Edge, ...]


class Outcome(NamedTuple):
    """Accepting runs in the order in which they accept, and the runs that are still waiting after the last event."""

    accepted: list[Bindings]
    waiting: list[Run]


def runs_from(asked: Question, events: Sequence[Event]) -> Outcome:
    """All runs that begin with the first of the events of a window."""
    _, *later = events
    accepted: dict[Bindings, None] = {}
    runs: dict[Run, None] = {}
    for stance in begin(asked.pattern.root):
        for edge in stance.edges:
            _go_on(asked, (), edge, events, 0, accepted, runs)
    for place, event in enumerate(later, 1):
        kept: dict[Run, None] = {}
        for run in runs:
            ours = _same_key(asked, run.bindings, event)
            fired = [
                edge for edge in run.edges if ours and _go_on(asked, run.bindings, edge, events, place, accepted, kept)
            ]
            staying = tuple(edge for edge in run.edges if _may_skip(asked, edge, event, ours, fired))
            if staying:
                kept[Run(run.bindings, staying)] = None
        runs = kept
    return Outcome(list(accepted), list(runs))


def _go_on(
    asked: Question,
    bindings: Bindings,
    edge: Edge,
    events: Sequence[Event],
    place: int,
    accepted: dict[Bindings, None],
    runs: dict[Run, None],
) -> bool:
    """Whether the edge takes `events[place]`; the runs that this makes go into `runs`, and into `accepted`."""
    taken = (*bindings, Bound(events[place], edge.leaf.number, edge.iterations))
    if not _allowed(asked, taken, edge.state) or not in_time(asked, taken, events) or ended(asked, taken, events):
        return False
    stances = onward(asked.pattern.root, edge.state)
    if any(stance.over for stance in stances) and complete(asked, taken):
        accepted[taken] = None
    for stance in stances:
        if stance.edges:
            runs[Run(taken, stance.edges)] = None
    return True


def _allowed(asked: Question, taken: Bindings, state: State) -> bool:
    """Whether the last event may be taken, by everything that is known now."""
    event, number, _ = taken[-1]
    if not asked.pattern.leaves[number].takes(event):
        return False
    if not in_order(asked, taken[-2:]):
        return False
    if not pairs_hold(asked.pairs, taken[-2:]):
        return False
    if not keys_agree(asked, taken) or not distinct_differ(asked, taken):
        return False
    root = asked.pattern.root
    return not any(
        violated(one, taken, lambda leaf: left(root, state, leaf), asked.functions) for one in asked.conditions
    )


def _same_key(asked: Question, bindings: Bindings, event: Event) -> bool:
    first = bindings[0].event
    return all(event.get(name) == first.get(name) for name in asked.partition)


def _may_skip(asked: Question, edge: Edge, event: Event, ours: bool, fired: Sequence[Edge]) -> bool:
    """Whether a run may go on waiting for this edge when the event has passed (the ignore edge)."""
    uncounted = event.counter > 0 and edge not in fired  # results of other queries count in nobody's contiguity
    strategy = (asked.continues if edge.loops else asked.begins)[edge.leaf.number]
    if strategy == ANY:
        return True
    if strategy == NEXT:
        return not any(one.holds for one in fired)
    if strategy == PARTITION:
        return uncounted or not ours
    return uncounted
