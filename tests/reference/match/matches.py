"""All matches of a query over a stream, as results describe them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tests.reference.match.absence import times
from tests.reference.match.events import Bindings, Event
from tests.reference.match.question import ANY, Question, names
from tests.reference.match.runs import Run, runs_from
from tests.reference.match.subsets import any_matches
from tests.reference.match.windows import Window, windows

Place = tuple[int, int]


@dataclass(frozen=True)
class Match:
    """`parts`: the events of each component by number, in order; () for one that is not bound.

    `bindings`: one way to take them (a match found in several ways is one match). `due`: when the time of a NOT that
    ends it is over; None: no such NOT ends it.
    """

    parts: tuple[tuple[Event, ...], ...]
    window: tuple[int, int] | None
    opener: Event | None
    bindings: Bindings
    due: int | None = None

    def events(self) -> list[Event]:
        return [bound.event for bound in self.bindings]

    def places(self) -> tuple[tuple[Place, ...], ...]:
        return tuple(tuple(event.place() for event in part) for part in self.parts)

    def seqs(self) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(event.seq for event in part) for part in self.parts)

    def order(self) -> tuple[Any, ...]:
        """The order of results: last seq, first seq, all seqs, seqs by component (one not bound last), window, due."""
        ordered = tuple(event.place() for event in self.events())
        opener = self.opener.place() if self.opener else ()
        due = () if self.due is None else (self.due,)
        components = tuple((not part, part) for part in self.places())
        return ordered[-1], ordered[0], ordered, components, self.window or (), opener, due


def parts_of(asked: Question, bindings: Bindings) -> tuple[tuple[Event, ...], ...]:
    return tuple(tuple(b.event for b in bindings if b.leaf == leaf.number) for leaf in names(asked))


def all_matches(asked: Question, events: Sequence[Event]) -> list[Match]:
    """All matches, before CONSUME and OUTPUT, in the order of results."""
    found: dict[Any, Match] = {}
    for window in windows(asked, events):
        for bindings in _accepted(asked, window):
            for due in times(asked, bindings, window, events):
                match = Match(parts_of(asked, bindings), window.bounds, window.opener, bindings, due)
                found.setdefault(match.order(), match)
    return [found[order] for order in sorted(found)]


def _accepted(asked: Question, window: Window) -> Iterator[Bindings]:
    for start in range(window.starts):
        yield from runs_from(asked, window.events[start:]).accepted


def waiting_runs(asked: Question, events: Sequence[Event]) -> Iterator[tuple[Window, Run, bool]]:
    """The runs still waiting when their window ends, and whether a match continued them."""
    for window in windows(asked, events):
        for start in range(window.starts):
            outcome = runs_from(asked, window.events[start:])
            matched = [one for one in outcome.accepted if times(asked, one, window, events)]
            for run in outcome.waiting:
                yield window, run, any(one[: len(run.bindings)] == run.bindings for one in matched)


def all_matches_by_subsets(asked: Question, events: Sequence[Event]) -> set[Any]:
    """The orders of all matches under skip-till-any-match: every choice of events that the pattern derives."""
    assert {*asked.begins.values(), *asked.continues.values()} == {ANY}
    found: set[Any] = set()
    for window in windows(asked, events):
        for bindings in any_matches(asked, window.events):
            if window.starts == 1 and bindings[0].event is not window.events[0]:
                continue
            found.update(
                Match(parts_of(asked, bindings), window.bounds, window.opener, bindings, due).order()
                for due in times(asked, bindings, window, events)
            )
    return found
