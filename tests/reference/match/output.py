"""CONSUME and OUTPUT: which of all matches are reported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.reference.match.events import Event
from tests.reference.match.matches import Match, parts_of, waiting_runs
from tests.reference.match.question import Question, names


def chosen(asked: Question, found: Sequence[Match]) -> list[Match]:
    """What OUTPUT and CONSUME leave of all matches, in the order of results.

    Matches take turns: by their first events (LONGEST), else in the order of results; among those of one turn the one
    with most events comes first (FIRST, LONGEST). In its turn a match is reported unless its first event has one in
    its window (FIRST, LONGEST), or an event of it was consumed, in its window, by one that was reported.
    """
    mode = "ALL" if asked.query.output is None else asked.query.output.mode
    if mode == "NON-OVERLAP":  # its matches share no event
        return _apart(asked, found)
    numbers = _consuming(asked)
    begun: set[tuple[Any, ...]] = set()
    gone: set[tuple[Any, ...]] = set()
    kept = []
    for match in sorted(found, key=lambda one: (_turn(mode, one), one.order())):
        window = match.window, match.opener
        start = *window, match.events()[0]
        if mode in ("FIRST", "LONGEST") and start in begun:
            continue
        if any((*window, event) in gone for event in match.events()):
            continue
        kept.append(match)
        begun.add(start)
        gone.update((*window, bound.event) for bound in match.bindings if bound.leaf in numbers)
    return sorted(kept, key=Match.order)


def _turn(mode: str, match: Match) -> tuple[Any, ...]:
    last, first, *_ = match.order()
    turns = {"FIRST": (last, first, -len(match.bindings)), "LONGEST": (first, -len(match.bindings))}
    return turns.get(mode, ())


def _consuming(asked: Question) -> set[int]:
    """The components whose events serve one match only."""
    clause = asked.query.consume
    if clause is None or clause.scope == "none":
        return set()
    if clause.scope == "variables":
        return {asked.pattern.leaf(name).number for name in clause.variables}
    return {leaf.number for leaf in names(asked)}


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
