"""Trends by GRETA's definition 1: labelled sequences of events, enumerated along the pattern tree.

A *piece* is what a part of the pattern may be: some events in order, each with the component that it is for, and the
NOTs that still wait for a neighbour at either end. Two pieces that stand one after the other are joined if every NOT
between them holds there: no trend of the negated pattern lies strictly between their two events.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import combinations, pairwise, product

from tests.reference.match.conditions import pairs_hold
from tests.reference.match.events import Bindings, Bound, Event
from tests.reference.match.question import ANY, NEXT, PARTITION, Question, adjacent, complete, keys_agree
from tests.reference.match.runs import runs_from
from tests.reference.match.shape import Both, Either, Leaf, Loop, Seq, Shape, Take
from tests.reference.trends.windows import Trend, Window, windows


@dataclass(frozen=True)
class Piece:
    """`lead`, `trail`: NOTs before the first and after the last event (without an event: all of them in `lead`)."""

    bound: Bindings = ()
    lead: tuple[Shape, ...] = ()
    trail: tuple[Shape, ...] = ()


def trends(asked: Question, events: Sequence[Event]) -> Iterator[tuple[Window, set[Trend]]]:
    """The trends of each window."""
    for window in windows(asked.query.within, events):
        found: set[Trend] = set()
        keys = [key.attribute for key in asked.keys if len(key.leaves) == len(asked.pattern.leaves)]
        for own in _partitioned(window.events, keys):
            found |= _Graph(asked, window.events, own).trends()
        if NEXT in (*asked.begins.values(), *asked.continues.values()):
            found &= _selected(asked, window.events)
        yield window, found


def _partitioned(events: Sequence[Event], names: Sequence[str]) -> Iterator[list[Event]]:
    """The events of each key; those with a null in it have none."""
    for key in dict.fromkeys(tuple(event.get(name) for name in names) for event in events):
        if None not in key:
            yield [event for event in events if tuple(event.get(name) for name in names) == key]


def _selected(asked: Question, events: Sequence[Event]) -> set[Trend]:
    """What the runs of skip-till-next-match (N2-N4) take."""
    runs = (runs_from(asked, events[start:]).accepted for start in range(len(events)))
    return {_labelled(bound) for accepted in runs for bound in accepted}


def _labelled(bound: Bindings) -> Trend:
    return tuple((one.leaf, one.event) for one in bound)


@dataclass(eq=False)
class _Graph:
    """Trends among the events of one key in one window, of which `stream` are all."""

    asked: Question
    stream: Sequence[Event]
    events: Sequence[Event]

    def __post_init__(self) -> None:
        self.absent = cache(partial(_Graph._absent, self))
        self.taken = cache(partial(_Graph._taken, self))

    def trends(self) -> set[Trend]:
        return {
            _labelled(piece.bound)
            for piece in self.pieces(self.asked.pattern.root)
            if piece.bound and self._is_trend(piece)
        }

    def _is_trend(self, piece: Piece) -> bool:
        first, last = piece.bound[0].event, piece.bound[-1].event
        if any(self._occurs(shape, None, first) for shape in piece.lead):
            return False
        if any(self._occurs(shape, last, None) for shape in piece.trail):
            return False
        fits = pairs_hold(self.asked.pairs, piece.bound) and keys_agree(self.asked, piece.bound)
        return fits and complete(self.asked, piece.bound) and self._contiguous(piece.bound)

    def _contiguous(self, bound: Bindings) -> bool:
        """Whether nothing was skipped that the strategy of a step does not allow to skip."""
        for number, (before, after) in enumerate(pairwise(bound), 1):
            again = self._iterates(bound[:number], after)
            strategy = (self.asked.continues if again else self.asked.begins)[after.leaf]
            if strategy in (ANY, NEXT):
                continue
            low, high = self.stream.index(before.event), self.stream.index(after.event)
            skipped = self.stream[low + 1 : high]
            if strategy == PARTITION:
                mine = [before.event.get(name) for name in self.asked.partition]
                skipped = [e for e in skipped if [e.get(name) for name in self.asked.partition] == mine]
            if skipped:
                return False
        return True

    def _iterates(self, earlier: Bindings, after: Bound) -> bool:
        """Whether an event begins an iteration, not the first one, of a repetition around its component."""
        loops = [self.asked.pattern.leaves[one.leaf].loops for one in (*earlier, after)]
        for depth, number in enumerate(after.iterations, 1):
            mine = loops[-1][:depth], after.iterations[:depth]
            begun = any((own[:depth], one.iterations[:depth]) == mine for own, one in zip(loops, earlier, strict=False))
            if number > 1 and not begun:
                return True
        return False

    # ------------------------------------------------------------ NOT

    def _absent(self, shape: Shape) -> list[tuple[Event, Event]]:
        """First and last event of every trend of a negated pattern."""
        found = (piece.bound for piece in self.pieces(shape) if piece.bound)
        return [
            (bound[0].event, bound[-1].event)
            for bound in found
            if pairs_hold(self.asked.pairs, bound) and keys_agree(self.asked, bound) and self._allowed(bound)
        ]

    def _allowed(self, bound: Bindings) -> bool:
        return complete(replace(self.asked, conditions=self.asked.absent), bound)

    def _occurs(self, shape: Shape, before: Event | None, after: Event | None) -> bool:
        """Whether a trend of a negated pattern lies strictly between two events; None: up to that end of the window."""
        return any(
            (before is None or adjacent(self.asked, before, first))
            and (after is None or adjacent(self.asked, last, after))
            for first, last in self.absent(shape)
        )

    # ------------------------------------------------------------ pieces

    def pieces(self, shape: Shape) -> set[Piece]:
        match shape:
            case Take(leaf=leaf):
                return {Piece((Bound(event, leaf.number, ()),)) for event in self.taken(leaf)}
            case Either(parts=parts):
                return {piece for part in parts for piece in self.pieces(part)}
            case Seq():
                return self._sequence(shape)
            case Loop():
                return self._repeated(shape)
            case Both():
                return set(self._interleaved(shape))

    def _taken(self, leaf: Leaf) -> list[Event]:
        return [event for event in self.events if leaf.takes(event)]

    def _sequence(self, seq: Seq) -> set[Piece]:
        found = {Piece()}
        for place in range(len(seq.parts) + 1):
            missing = tuple(shape for gap, shape in seq.absent if gap == place)
            found = self._joined(found, {Piece(lead=missing)})
            if place < len(seq.parts):
                found = self._joined(found, self.pieces(seq.parts[place]))
        return {piece if piece.bound else Piece() for piece in found}

    def _repeated(self, loop: Loop) -> set[Piece]:
        body = {piece for piece in self.pieces(loop.body) if piece.bound}
        found: set[Piece] = set()
        number, newest = 1, {_iteration(piece, 1) for piece in body}
        while newest and (loop.high is None or number <= loop.high):
            found |= newest if number >= loop.low else set()
            number += 1
            newest = self._joined(newest, {_iteration(piece, number) for piece in body})
        return found

    def _joined(self, left: Iterable[Piece], right: Iterable[Piece]) -> set[Piece]:
        return {piece for one, other in product(left, right) if (piece := self._join(one, other)) is not None}

    def _join(self, one: Piece, other: Piece) -> Piece | None:
        if not one.bound:
            return replace(other, lead=one.lead + other.lead)
        if not other.bound:
            return replace(one, trail=one.trail + other.lead)
        before, after = one.bound[-1].event, other.bound[0].event
        if not adjacent(self.asked, before, after):
            return None
        if any(self._occurs(shape, before, after) for shape in one.trail + other.lead):
            return None
        return Piece(one.bound + other.bound, one.lead, other.trail)

    def _interleaved(self, both: Both) -> Iterator[Piece]:
        for chosen in combinations(both.parts, both.count):
            for pieces in product(*map(self.pieces, chosen)):
                bound = sorted((b for piece in pieces for b in piece.bound), key=lambda b: b.event.order())
                if all(adjacent(self.asked, one.event, other.event) for one, other in pairwise(bound)):
                    lead = tuple(shape for piece in pieces for shape in piece.lead)
                    yield Piece(tuple(bound), lead, tuple(shape for piece in pieces for shape in piece.trail))


def _iteration(piece: Piece, number: int) -> Piece:
    bound = tuple(one._replace(iterations=(number, *one.iterations)) for one in piece.bound)
    return replace(piece, bound=bound)
