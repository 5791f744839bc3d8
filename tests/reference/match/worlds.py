"""Imprecise timestamps by possible worlds (X2): every combination of times, with its probability, matched as usual."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

from saffron.language.syntax import tree
from saffron.language.syntax.tree import Index
from tests.reference.match.conditions import references
from tests.reference.match.events import Event
from tests.reference.match.matches import Place, all_matches
from tests.reference.match.question import ANY, Question
from tests.reference.match.shape import Leaf

Parts = tuple[tuple[Place, ...], ...]
Bounds = tuple[int, int] | None


@dataclass(frozen=True, eq=False)
class Vague:
    """An event that happened at one of lo..hi; `weights`: the probability of each, None for uniform."""

    seq: int
    lo: int
    hi: int
    type: str
    attributes: dict[str, Any]
    weights: tuple[Fraction, ...] | None = None

    def times(self) -> Iterator[tuple[int, Fraction]]:
        size = self.hi - self.lo + 1
        weights = self.weights or (Fraction(1, size),) * size
        assert len(weights) == size
        assert sum(weights) == 1
        yield from zip(range(self.lo, self.hi + 1), weights, strict=True)


@dataclass(frozen=True)
class Likely:
    """A match: the places of its events by component, its window, and how likely it is."""

    parts: Parts
    window: Bounds
    opener: Place | None
    confidence: Fraction


def worlds(events: Sequence[Vague]) -> Iterator[tuple[list[Event], Fraction]]:
    """Every combination of times, as a stream in order of time, and its probability."""
    for choice in product(*(list(event.times()) for event in events)):
        probability = Fraction(1)
        made = []
        for event, (ts, weight) in zip(events, choice, strict=True):
            probability *= weight
            made.append(Event(event.seq, ts, event.type, event.attributes))
        if probability:
            yield sorted(made, key=lambda event: (event.ts, event.seq)), probability


def likely_matches(asked: Question, events: Sequence[Vague]) -> list[Likely]:
    """The matches whose confidence reaches CONFIDENCE (default: is above 0), by (window, parts)."""
    _check(asked.query)
    every = dict.fromkeys(asked.begins, ANY)
    loose = frozenset(leaf.number for leaf in asked.pattern.leaves if is_uncorrelated(asked, leaf))
    asked = replace(asked, begins=every, continues=every, strict_time=True, loose=loose)
    found: dict[tuple[Parts, Bounds, Place | None], Fraction] = {}
    for stream, probability in worlds(events):
        produced = set()
        for match in all_matches(asked, stream):
            parts = tuple(
                tuple(sorted(part)) if number in loose else part for number, part in enumerate(match.places())
            )
            produced.add((parts, match.window, match.opener.place() if match.opener else None))
        for key in produced:
            found[key] = found.get(key, Fraction(0)) + probability
    least = Fraction(0) if asked.query.confidence is None else Fraction(str(asked.query.confidence.value))
    kept = [Likely(*key, confidence) for key, confidence in found.items() if confidence >= least]
    return sorted(kept, key=lambda one: (one.window or (), one.opener or (), one.parts))


def _check(query: tree.Query) -> None:
    if query.within.size.events:
        raise ValueError("a window in EVENTS needs positions, which imprecise times do not give")
    if any(use.name != ANY for use in query.strategies):
        raise ValueError("imprecise time is matched by skip-till-any-match")
    chooses = query.output is not None and (query.output.mode not in ("ALL", "COMPRESSED") or query.output.timeouts)
    if chooses or (query.consume is not None and query.consume.scope != "none"):
        raise ValueError("imprecise times give no order in which to choose among matches")


def is_uncorrelated(asked: Question, leaf: Leaf) -> bool:
    """Whether a component is a closure of an event whose own order nothing reads."""
    return leaf.number in asked.pattern.closures and not any(
        _reads_order(asked, expression, leaf) for expression in _expressions(asked.query)
    )


def _expressions(query: tree.Query) -> Iterator[tree.Expression]:
    yield from query.conditions
    for item in query.returns.items if query.returns else ():
        yield item.expression


def _reads_order(asked: Question, expression: tree.Expression, leaf: Leaf) -> bool:
    if isinstance(expression, tree.Key):
        return False
    if isinstance(expression, tree.Call) and expression.function in ("first", "last"):
        return any(asked.pattern.leaf(reference.variable) is leaf for reference in references(expression))
    if isinstance(expression, tree.Reference):
        ordered = (Index.PREVIOUS, Index.BEFORE, Index.FIRST, Index.NTH, Index.LAST)
        return expression.index in ordered and asked.pattern.leaf(expression.variable) is leaf
    return any(_reads_order(asked, operand, leaf) for operand in tree.operands(expression))
