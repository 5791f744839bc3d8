"""CONSUME and OUTPUT: which of all matches are reported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.reference.match.events import Event
from tests.reference.match.matches import Match, parts_of, waiting_runs
from tests.reference.match.question import Question, names


def chosen(asked: Question, found: Sequence[Match]) -> list[Match]:
    """What CONSUME and then OUTPUT leave of all matches, in the order of results."""
    left = _unconsumed(asked, found)
    mode = "ALL" if asked.query.output is None else asked.query.output.mode
    if mode == "NON-OVERLAP":
        return _apart(asked, left)
    if mode == "FIRST":
        return _best(left, lambda match: (match.order()[0], -len(match.bindings)))
    if mode == "LONGEST":
        return _best(left, lambda match: (-len(match.bindings),))
    return left


def _unconsumed(asked: Question, found: Sequence[Match]) -> list[Match]:
    """Greedily: a match none of whose events was consumed, in its window, by one that was taken before."""
    clause = asked.query.consume
    if clause is None or clause.scope == "none":
        return list(found)
    numbers = {leaf.number for leaf in names(asked)}
    if clause.scope == "variables":
        numbers = {asked.pattern.leaf(name).number for name in clause.variables}
    gone: set[tuple[Any, Event]] = set()
    kept = []
    for match in found:
        window = match.window, match.opener
        if not any((window, event) in gone for event in match.events()):
            kept.append(match)
            gone.update((window, bound.event) for bound in match.bindings if bound.leaf in numbers)
    return kept


def _apart(asked: Question, found: Sequence[Match]) -> list[Match]:
    """Greedily: a match that begins after all those taken before it, of its key, have ended."""
    ends: dict[tuple[Any, ...], tuple[int, int]] = {}
    kept = []
    for match in found:
        events = match.events()
        key = tuple(events[0].get(name) for name in asked.partition)
        if key not in ends or events[0].place() > ends[key]:
            kept.append(match)
            ends[key] = events[-1].place()
    return kept


def _best(found: Sequence[Match], rank: Callable[[Match], tuple[Any, ...]]) -> list[Match]:
    """One match for each window and first event; the order of results breaks ties."""
    best: dict[Any, Match] = {}
    for match in found:
        start = match.window, match.opener, match.events()[0]
        held = best.get(start)
        if held is None or (rank(match), match.order()) < (rank(held), held.order()):
            best[start] = match
    return sorted(best.values(), key=Match.order)


def counts_by_last(found: Iterable[Match]) -> dict[tuple[Event, Any], int]:
    """COMPRESSED: how many matches end with an event, by that event and the window."""
    return dict(Counter((match.events()[-1], (match.window, match.opener)) for match in found))


Parts = tuple[tuple[Event, ...], ...]


@dataclass(frozen=True)
class Timeout:
    """A run whose window ended without a match. `waits`: the variables that it waited for."""

    parts: Parts
    window: tuple[int, int] | None
    opener: Event | None
    waits: tuple[str, ...]


def timeouts(asked: Question, events: Sequence[Event]) -> list[Timeout]:
    """What WITH TIMEOUTS reports beside the matches, in no particular order."""
    waits: dict[tuple[Parts, tuple[int, int] | None, Event | None], set[int]] = {}
    matched = set()
    for window, run, continued in waiting_runs(asked, events):
        key = parts_of(asked, run.bindings), window.bounds, window.opener
        waits.setdefault(key, set()).update(edge.leaf.number for edge in run.edges)
        if continued:
            matched.add(key)
    variables = [leaf.variable for leaf in names(asked)]
    return [
        Timeout(*key, tuple(variables[number] for number in sorted(numbers)))
        for key, numbers in waits.items()
        if key not in matched
    ]
